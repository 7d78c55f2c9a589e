#!/bin/bash
# Functions that async-profiler hooks work in forked children as before, though the child has none of its threads.
. "$(dirname "$0")/agent.inc"

goes_on=$(program child_goes_on -ldl) || exit 1

for engine in $(engines); do
	for more in '' 'NATIVE_MEM=512k NATIVE_MEM_ENGINE=auto'; do
		# shellcheck disable=SC2086 # words
		profiled "$work/out" "$engine" FORK=off CPU_INTERVAL=1ms WALL_INTERVAL=1ms $more "$goes_on" libm.so.6 \
			>"$work/said" 2>"$work/err" || fail "$engine, $more: $? $(cat "$work/said" "$work/err")"
		[ "$(cat "$work/said")" = ok ] || fail "$engine, $more: $(cat "$work/said")"
	done
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
