#!/bin/bash
# A program that blocked every signal before the engine's start, and reads signals, gets none of the engine's.
. "$(dirname "$0")/agent.inc"

signal_sets=$(program signal_sets)
[ "$("$signal_sets")" = ok ] || fail "bare: $("$signal_sets")"
for engine in $(engines); do
	for delay in 0 50ms; do
		said=$(profiled "$work/out" "$engine" START_DELAY=$delay CPU_INTERVAL=1ms WALL_INTERVAL=1ms "$signal_sets") ||
			fail "$engine, $delay: status $?"
		[ "$said" = ok ] || fail "$engine, $delay: $said"
	done
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
