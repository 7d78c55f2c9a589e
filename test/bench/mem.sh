#!/bin/bash
# The cost of sampling native memory for a pair of malloc and free, and the size of the recording. async-profiler is
# measured too if ASPROF_TEST_LIB names its library.
set -eu
. "$(dirname "$0")/../system/agent.inc"
# A round is MILLIONS of pairs (100), so that the first moments, which exec.sh measures, matter little.
rounds=${ROUNDS:-15} millions=${MILLIONS:-100}
recorded_millions=20

pairs=$(program mem_pairs)

# With memory alone, or with CPU and WALL: $1 is the engine, then the program's arguments.
profiled() {
	local engine=$1
	shift
	rm -rf "$work/out"
	mkdir "$work/out"
	env LD_PRELOAD="$preload" ASPROF_AGENT_ENGINE="$engine" \
		ASPROF_AGENT_LIB="${ASPROF_TEST_LIB:-none}" ASPROF_AGENT_START_DELAY=1ms \
		ASPROF_AGENT_CPU_INTERVAL="${CPU:-off}" ASPROF_AGENT_WALL_INTERVAL="${WALL:-off}" \
		ASPROF_AGENT_NATIVE_MEM="$NATIVE_MEM" ASPROF_AGENT_LOCAL_DIR="$work/out" \
		ASPROF_AGENT_LOCAL_MAX_BYTES=0 ASPROF_AGENT_EXIT_TIMEOUT=60s \
		ASPROF_AGENT_REPORTING_INTERVAL=1h "$pairs" "$@"
}

# Of the numbers on stdin; no output without numbers.
median() {
	sort -n | awk '{ all[NR] = $1 } END { printf "%s", all[int((NR + 1) / 2)] }'
}

recorded() {
	cat "$work"/out/*.jfr | wc -c
}

# times FILE: relative to the bare program that ran next to it, because the machine's speed changes.
times() {
	paste "$1" "$work/bare" | awk 'NF == 2 { printf "%.2f\n", $1 / $2 }' | median
}

printf '%-8s %8s %14s %14s %16s\n' threads bare 'off' 'builtin 512k' 'async-profiler'
for threads in 1 2 8; do
	: >"$work/bare"; : >"$work/off"; : >"$work/ours"; : >"$work/theirs"
	for ((i = 0; i < rounds; i++)); do
		"$pairs" $threads $millions 1 >>"$work/bare"
		NATIVE_MEM=off LD_PRELOAD="$preload" ASPROF_AGENT_ENABLED=off \
			"$pairs" $threads $millions 1 >>"$work/off"
		NATIVE_MEM=512k profiled builtin $threads $millions 800 >>"$work/ours"
		if [ -n "${ASPROF_TEST_LIB:-}" ] && [ $i -lt 3 ]; then
			NATIVE_MEM=512k profiled async-profiler $threads \
				$((recorded_millions / 4)) 800 >>"$work/theirs"
			[ $threads = 1 ] && their_size=$(($(recorded) * 4))
		fi
	done
	theirs=$(median <"$work/theirs")
	printf '%-8s %8s %14s %14s %16s\n' $threads "$(median <"$work/bare")" \
		"$(median <"$work/off") ($(times "$work/off")x)" \
		"$(median <"$work/ours") ($(times "$work/ours")x)" \
		"${theirs:+$theirs ($(times "$work/theirs")x)}"
done
echo "nanoseconds of CPU for a pair of 16 to 1,040 bytes, median of $rounds"
NATIVE_MEM=512k profiled builtin 1 $recorded_millions 800 >/dev/null
size=$(recorded)
CPU=100ms WALL=1s NATIVE_MEM=512k profiled builtin 1 $recorded_millions 800 >/dev/null
echo "recording of $recorded_millions million pairs: builtin $size bytes, with cpu and wall samples" \
	"$(recorded)${their_size:+, async-profiler $their_size (of a quarter of the pairs, times 4)}"
