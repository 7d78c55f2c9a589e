#!/bin/bash
# The cost of LOCK for a pair of lock and unlock of a free mutex. async-profiler's nativelock= is measured too if
# ASPROF_TEST_LIB names its library.
set -eu
. "$(dirname "$0")/../system/agent.inc"
rounds=${ROUNDS:-15} millions=${MILLIONS:-20}

locks=$(program lock_waits -ldl)

# pairs THREADS [SETTING...]: with the preload.
pairs() {
	local threads=$1
	shift
	env LD_PRELOAD="$preload" ASPROF_AGENT_LIB="${ASPROF_TEST_LIB:-none}" ASPROF_AGENT_START_DELAY=1ms \
		ASPROF_AGENT_CPU_INTERVAL=off ASPROF_AGENT_LOCAL_DIR="$work" "$@" "$locks" pairs "$millions" "$threads"
}

median() {
	sort -n | awk '{ all[NR] = $1 } END { printf "%s", all[int((NR + 1) / 2)] }'
}

# more FILE: than the bare program that ran next to it, because the machine's speed changes.
more() {
	paste "$1" "$work/bare" | awk 'NF == 2 { printf "%.3f\n", $1 - $2 }' | median
}

printf '%-8s %8s %20s %20s %20s\n' threads bare off builtin async-profiler
for threads in 1 2; do
	: >"$work/bare"; : >"$work/off"; : >"$work/ours"; : >"$work/theirs"
	for ((i = 0; i < rounds; i++)); do
		"$locks" pairs "$millions" "$threads" >>"$work/bare"
		pairs "$threads" ASPROF_AGENT_ENGINE=builtin >>"$work/off"
		pairs "$threads" ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_LOCK=10ms >>"$work/ours"
		[ -z "${ASPROF_TEST_LIB:-}" ] || pairs "$threads" ASPROF_AGENT_ENGINE=async-profiler \
			ASPROF_AGENT_ENGINE_OPTIONS=nativelock=10ms >>"$work/theirs"
	done
	printf '%-8s %8s %20s %20s %20s\n' "$threads" "$(median <"$work/bare")" \
		"$(median <"$work/off") (+$(more "$work/off"))" "$(median <"$work/ours") (+$(more "$work/ours"))" \
		"$(median <"$work/theirs") (+$(more "$work/theirs"))"
done
echo "nanoseconds of CPU for a pair, median of $rounds; +: more than the bare program"
