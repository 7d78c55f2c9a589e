#!/bin/sh
# Forked children end as without the agent, at whatever moment of the agent they were forked.
. "$(dirname "$0")/agent.inc"

forks=$(program forks) || exit 1
for engine in $(engines); do
	# Reports as often as possible, so that many forks happen during one.
	profiled "$work/$engine" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=10ms \
		REPORTING_INTERVAL=1s "$forks" 1500 >"$work/said" ||
		fail "$engine: $(cat "$work/said")"
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
