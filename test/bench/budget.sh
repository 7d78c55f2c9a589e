#!/bin/bash
# What sampling costs in programs whose samples are expensive, with the default budget and without one.
#
# Two runs that are compared go together, on one processor: each gets it for some milliseconds at a time, so whatever
# changes the machine's speed changes both. They are compared by CPU time of the process. Two bare ones differ by 0.3%,
# and by 5% to 10% if one runs after the other. (The programs with 10,000 threads do: they would disturb each other.)
#
# The first third of the work and the program's end are the fixed cost: the start of the agent, hooks, thread creation,
# the budget's first measurements, and the report with its symbols. The rest is the steady cost: of hooks and threads
# alone ("hooks": with intervals at which almost no sample is taken), and of sampling beyond that. Medians over ROUNDS
# (10), with the 95 percent interval in brackets.
#
# The floors of the budget are shares of the wall-clock time, so they permit twice as much here as in a program that has
# the processor to itself.
#
# Totals: the largest difference of a function's share of the CPU time, or of its bytes, from the runs without a budget,
# in percent of it, for functions with a fifth of all. Over all rounds, with the standard error of their difference.
#
#   STRESS="frames python"  only these programs
#   PYTHON=/opt/venv/bin/python3  this interpreter; with py-spy and memray in its directory, they are measured too.
#   ASPROF_TEST_LIB=...  async-profiler's library is measured too
set -eu
. "$(dirname "$0")/../system/agent.inc"
unset ASPROF_AGENT_BUDGET
rounds=${ROUNDS:-10} stress_wanted=${STRESS:-frames plain threads short allocs python java defaults}

stress=$(program budget_stress -O1 -fno-optimize-sibling-calls)
python=$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)') || python=
cat >"$work/deep.py" <<'PYTHON'
import sys, time
def descend(n):
    return descend(n - 1) if n else sum(range(20000))
rounds = int(sys.argv[1])
for i in range(rounds):
    if i == rounds // 3:
        print("%.4f" % time.process_time(), end=" ", flush=True)
    descend(200)
print("%.4f" % time.process_time(), end=" ", flush=True)
PYTHON

cat >"$work/Deep.java" <<'JAVA'
public class Deep {
	static int depth(int n) {
		return depth(n + 1) + 1;
	}

	static void print() {
		System.out.printf("%.4f ", ((com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory
			.getOperatingSystemMXBean()).getProcessCpuTime() / 1e9);
	}

	public static void main(String[] arguments) {
		int rounds = Integer.parseInt(arguments[0]);

		for (int i = 0; i < rounds; i++) {
			if (i == rounds / 3)
				print();
			try {
				depth(0);
			} catch (StackOverflowError expected) {
				continue;
			}
		}
		print();
	}
}
JAVA
! javac -d "$work" "$work/Deep.java" 2>"$work/err" || has_java=1
# All that follows runs on the last processor.
taskset -cp "$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status | sed 's/.*[,-]//')" $$ >/dev/null

# timed NAME COMMAND...: a line of $work/NAME gets the CPU time after a third of the work, at its end, and with the
# program's end.
timed() {
	local TIMEFORMAT='%3U %3S' name=$1

	shift
	{ time "$@" >"$work/marks.$name" 2>"$work/err.$name"; } 2>"$work/used.$name" ||
		fail "$name: $(cat "$work/err.$name")"
	awk '{ print marks, $1 + $2 }' marks="$(cat "$work/marks.$name")" "$work/used.$name" >>"$work/$name"
}

# preloaded NAME VARIABLE=value... COMMAND...: its reports go to a directory of this round in $work/out.NAME.
preloaded() {
	timed "$1" profiled "$work/out.$1/$i" builtin REPORTING_INTERVAL=1h "${@:2}"
}

# together NAME COMMAND...: next to a run with hooks and threads alone; before it, if APART is set.
together() {
	"${@:2}" &
	[ -z "${apart:-}" ] || wait $!
	(preloaded "hooks.$1" "${rare[@]}" "${program[@]}") # in a shell of its own, which counts only its own children
	wait $!
}

# median NAME EXPRESSION FORMAT: of the expression of NAME's columns and those of the run next to it, with its interval.
median() {
	paste "$work/$1" "$work/hooks.$1" | awk "{ print $2 }" | sort -g | awk -v f="$3" '{ v[NR] = $1 }
		END { k = int(NR / 2 - 0.98 * sqrt(NR) + 0.5); k = k < 1 ? 1 : k
			printf f " (" f " to " f ")", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[k], v[NR + 1 - k] }'
}

# totals SWITCH: the largest difference of a function's share with the budget, in percent.
totals() {
	for name in unlimited budget; do
		for reports in "$work/out.$name"/*; do
			"$agent" collapsed "$1" --total "$reports" 2>/dev/null | awk '{ n = split($0, f, ";")
				leaf = f[n]; sub(/ [0-9]+$/, "", leaf); gsub(/ /, "_", leaf); sum[leaf] += $NF; all += $NF }
				END { for (leaf in sum) print leaf, sum[leaf] / all }'
		done | awk '{ sum[$1] += $2; squares[$1] += $2 * $2 } END { for (leaf in sum) {
			mean = sum[leaf] / rounds; variance = squares[leaf] / rounds - mean * mean
			print leaf, mean, (variance > 0 ? variance / rounds : 0) } }' rounds="$rounds" | sort >"$work/shares.$name"
	done
	join "$work/shares.unlimited" "$work/shares.budget" | awk '$2 > 0.2 { d = ($4 / $2 - 1) * 100
		if (d * d >= most * most) { most = d; e = sqrt($3 + $5) / $2 * 100 } }
		END { printf "%+.1f%% (standard error %.1f)", most, e }'
}

peer() {
	timed peer "${@:2}"
	echo "  $1: $(awk 'END { print $NF }' "$work/peer" | awk '{ printf "%.2f", $1 / bare }' \
		bare="$(awk 'END { print $3 }' "$work/bare")") of the CPU time, with its own processes"
}

# measure TITLE "VARIABLE=value..." COMMAND...
measure() {
	local title=$1 intervals rare=(CPU_INTERVAL=1h WALL_INTERVAL=off) switch=--cpu program=("${@:3}")
	# Columns 1 to 3 are the run's, 4 to 6 those of the run next to it.
	local sampling='1 + ($2 - $1 - $5 + $4) / ($5 - $4)'

	read -ra intervals <<<"$2"
	[[ $2 != *NATIVE_MEM* ]] || rare+=(NATIVE_MEM=1g) switch=--alloc
	rm -rf "$work"/out.*
	for name in bare budget unlimited; do
		: >"$work/$name"
		: >"$work/hooks.$name"
	done
	for ((i = 0; i < rounds; i++)); do
		together bare timed bare "${program[@]}"
		together budget preloaded budget "${intervals[@]}" "${program[@]}"
		together unlimited preloaded unlimited BUDGET=off "${intervals[@]}" "${program[@]}"
	done
	echo "$title ($rounds rounds of $(awk 'END { print $3 }' "$work/bare") s)"
	echo "  hooks:             $(median bare '($5 - $4) / ($2 - $1)' %.3f)"
	echo "    fixed, ms:       $(median bare '1000 * ($4 + $6 - $5 - $1 - $3 + $2)' %.0f)"
	echo "  sampling:          $(median budget "$sampling" %.3f)"
	echo "    fixed, ms:       $(median budget '1000 * ($1 + $3 - $2 - $4 - $6 + $5)' %.0f)"
	echo "  without a budget:  $(median unlimited "$sampling" %.3f)"
	echo "  totals:            $(totals "$switch")"
	"$agent" cost "$work/out.budget"/* | sed 's/^/  the agent: /'
}

for name in $stress_wanted; do
	case $name in
	frames) measure '1,000 frames at 100 us' CPU_INTERVAL=100us "$stress" frames 9000 ;;
	plain) measure 'one frame at 100 us' CPU_INTERVAL=100us "$stress" plain 9000 ;;
	threads)
		apart=1 measure '10,000 threads, wall clock at 100 ms' "CPU_INTERVAL=10ms WALL_INTERVAL=100ms" "$stress" threads 2400
		;;
	short) measure 'short threads, CPU at 1 ms' "CPU_INTERVAL=1ms WALL_INTERVAL=10ms" "$stress" short 4000 ;;
	allocs) measure '10 million allocations per second, 64 KiB' "CPU_INTERVAL=10ms NATIVE_MEM=64k" "$stress" allocs 6000 ;;
	python)
		[ "$python" ] || continue
		measure 'Python, 200 frames at 1 ms' CPU_INTERVAL=1ms "$python" "$work/deep.py" 12000
		spy=$(dirname "${PYTHON:-/}")/py-spy
		[ ! -x "$spy" ] || peer 'py-spy at 1 ms' "$spy" record --rate 1000 --format raw --output "$work/spied" -- \
			"$python" "$work/deep.py" 12000
		! "$python" -c 'import memray' 2>/dev/null || peer 'memray' "$python" -m memray run -qfo "$work/memory" \
			"$work/deep.py" 12000
		;;
	java)
		[ "${has_java:-}" ] || continue
		measure 'Java stack overflows, CPU at 1 ms' CPU_INTERVAL=1ms java -cp "$work" Deep 400
		;;
	defaults) measure 'one frame, default intervals' "CPU_INTERVAL=100ms WALL_INTERVAL=1s" "$stress" plain 9000 ;;
	esac
	[ -z "${ASPROF_TEST_LIB:-}" ] || [ "$name" != frames ] || peer 'async-profiler at 100 us' env \
		LD_PRELOAD="$ASPROF_TEST_LIB" ASPROF_COMMAND="start,event=cpu,interval=100us,jfr,file=$work/peer.jfr" \
		"$stress" frames 9000
done
