#!/bin/bash
# What sampling costs in programs whose samples are expensive, with the default budget and without one.
#
# Each case is compared with the bare program that ran next to it, by CPU time of the process, so other load matters
# little. The first third of the work and the program's end are the fixed cost: the start of the agent, hooks, thread
# creation, the budget's first measurements, and the report with its symbols. The rest is the steady cost: of hooks and
# threads alone ("hooks": with intervals at which almost no sample is taken), and of sampling beyond that. Medians over
# ROUNDS (10), with the 95 percent interval in brackets.
#
# A program must have a processor of its own: the budget's floor is a share of the wall-clock time.
#
# Totals: the largest difference of a function's share of the CPU time, or of its bytes, from the run without a budget,
# in percent of it, for functions with a fifth of all.
#
#   STRESS="frames python"  only these programs
#   PYTHON=/opt/venv/bin/python3  this interpreter; with py-spy and memray in its directory, they are measured too.
#   ASPROF_TEST_LIB=...  async-profiler's library is measured too
set -eu
. "$(dirname "$0")/../system/agent.inc"
unset ASPROF_AGENT_BUDGET
rounds=${ROUNDS:-10} stress_wanted=${STRESS:-frames plain threads short allocs python defaults}

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

# timed NAME COMMAND...: a line of $work/NAME gets the CPU time after a third of the work, at its end, and with the
# program's end.
timed() {
	local TIMEFORMAT='%3U %3S' name=$1

	shift
	{ time "$@" >"$work/marks" 2>"$work/err"; } 2>"$work/used" || fail "$name: $(cat "$work/err")"
	awk '{ print marks, $1 + $2 }' marks="$(cat "$work/marks")" "$work/used" >>"$work/$name"
}

# preloaded NAME VARIABLE=value... COMMAND...: its last report goes to $work/out.NAME.
preloaded() {
	rm -rf "$work/out.$1"
	timed "$1" profiled "$work/out.$1" builtin REPORTING_INTERVAL=1h "${@:2}"
}

# median EXPRESSION NAME...: of the expression of bare's and the cases' columns, with its interval.
median() {
	local expression=$1 format=$2

	shift 2
	paste "$work/bare" "${@/#/$work/}" | awk "{ print $expression }" | sort -g | awk -v f="$format" '{ v[NR] = $1 }
		END { k = int(NR / 2 - 0.98 * sqrt(NR)); k = k < 1 ? 1 : k
			printf f " (" f " to " f ")", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[k], v[NR + 1 - k] }'
}

# totals SWITCH: the largest difference of a function's share with the budget, in percent.
totals() {
	for name in unlimited budget; do
		"$agent" collapsed "$1" --total "$work/out.$name" 2>/dev/null | awk '{ n = split($0, f, ";")
			leaf = f[n]; sub(/ [0-9]+$/, "", leaf); gsub(/ /, "_", leaf); sum[leaf] += $NF; all += $NF }
			END { for (leaf in sum) print leaf, sum[leaf] / all }' | sort >"$work/shares.$name"
	done
	join "$work/shares.unlimited" "$work/shares.budget" | awk '$2 > 0.2 { d = ($3 / $2 - 1) * 100
		if (d * d > most * most) most = d } END { printf "%+.1f%%", most }'
}

peer() {
	timed peer "${@:2}"
	echo "  $1: $(awk 'END { print $NF }' "$work/peer" | awk '{ printf "%.2f", $1 / bare }' \
		bare="$(awk 'END { print $3 }' "$work/bare")") of the CPU time, with its own processes"
}

# measure TITLE "VARIABLE=value..." COMMAND...
measure() {
	local title=$1 intervals rare=(CPU_INTERVAL=1h WALL_INTERVAL=off) switch=--cpu

	read -ra intervals <<<"$2"
	[[ $2 != *NATIVE_MEM* ]] || rare+=(NATIVE_MEM=1g) switch=--alloc
	shift 2
	for name in bare hooks budget unlimited; do : >"$work/$name"; done
	for ((i = 0; i < rounds; i++)); do
		timed bare "$@"
		preloaded hooks "${rare[@]}" "$@"
		preloaded budget "${intervals[@]}" "$@"
		preloaded unlimited BUDGET=off "${intervals[@]}" "$@"
	done
	echo "$title ($rounds rounds of $(awk 'END { print $3 }' "$work/bare") s)"
	echo "  fixed, ms:         $(median '1000 * ($4 - $1 + $6 - $5 - $3 + $2)' %.0f budget)"
	echo "  hooks:             $(median '($5 - $4) / ($2 - $1)' %.3f hooks)"
	echo "  sampling:          $(median '1 + ($8 - $7 - $5 + $4) / ($2 - $1)' %.3f hooks budget)"
	echo "  without a budget:  $(median '1 + ($8 - $7 - $5 + $4) / ($2 - $1)' %.3f hooks unlimited)"
	echo "  totals:            $(totals "$switch")"
	"$agent" cost "$work/out.budget" | sed 's/^/  the agent: /'
}

for name in $stress_wanted; do
	case $name in
	frames) measure '1,000 frames at 100 us' CPU_INTERVAL=100us "$stress" frames 9000 ;;
	plain) measure 'one frame at 100 us' CPU_INTERVAL=100us "$stress" plain 9000 ;;
	threads)
		measure '10,000 threads, wall clock at 100 ms' "CPU_INTERVAL=10ms WALL_INTERVAL=100ms" "$stress" threads 4000
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
	defaults) measure 'one frame, default intervals' "CPU_INTERVAL=100ms WALL_INTERVAL=1s" "$stress" plain 9000 ;;
	esac
	[ -z "${ASPROF_TEST_LIB:-}" ] || [ "$name" != frames ] || peer 'async-profiler at 100 us' env \
		LD_PRELOAD="$ASPROF_TEST_LIB" ASPROF_COMMAND="start,event=cpu,interval=100us,jfr,file=$work/peer.jfr" \
		"$stress" frames 9000
done
