#!/bin/bash
# A signal ends a program while it loads libraries. async-profiler would write an event to its log at each load, with a
# lock that it needs to finish the recording.
. "$(dirname "$0")/agent.inc"

[ -n "${ASPROF_TEST_LIB:-}" ] || skip "there is no async-profiler"

loads=$(program loads)
for round in 1 2 3 4 5 6; do
	rm -rf "$work/out" "$work/log"
	: >"$work/log"
	profiled "$work/out" async-profiler EXIT_TIMEOUT=10s LOG_FILE="$work/log" "$loads" >"$work/said" 2>/dev/null &
	job=$! pid=
	deadline=$((SECONDS + 30))
	until pid=$(cat "$work/said") && [ -n "$pid" ] && "$agent" status "$pid" >"$work/status" 2>&1 && grep -q async "$work/status"; do
		[ $SECONDS -lt $deadline ] || fail "round $round: it is not profiled: $(cat "$work/status")"
		sleep 0.1
	done
	sleep 0.2
	kill "$pid"
	wait "$job" 2>/dev/null
	status=$?
	[ "$status $(cat "$work/said" "$work/log")" = "143 $pid" ] ||
		fail "round $round: status $status, $(cat "$work/said" "$work/log")"
	[ "$(find "$work/out" -name 'loads_*.jfr' | wc -l)" = 1 ] || fail "round $round: no report"
	! grep -q 'dlopen: ' "$work/out"/loads_*.jfr || fail "round $round: the log has loads"
done
echo ok
