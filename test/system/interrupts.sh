#!/bin/bash
# The whole agent, with each engine, at the default settings and with the shortest intervals. No waiting call ends
# because of a sample, and each one ends at a signal of the program. (All at once, because most of them sleep.)
. "$(dirname "$0")/agent.inc"

waits=$(program waits)
interrupts=$(program interrupts)
fast='CPU_INTERVAL=1ms WALL_INTERVAL=1ms'

# start NAME COMMAND...: leaves its output in NAME.out and its status in NAME.status.
start() {
	name=$1
	shift
	(
		"$@" >"$work/$name.out" 2>&1
		echo $? >"$work/$name.status"
	) &
}

# shellcheck disable=SC2086 # words
for engine in $(engines); do
	start "$engine.waits" profiled "$work" "$engine" $fast "$waits"
	start "$engine.interrupts" profiled "$work" "$engine" $fast "$interrupts" 600
	start "$engine.default" profiled "$work" "$engine" START_DELAY=100ms "$interrupts" 600
done
wait

for status in "$work"/*.status; do
	name=$(basename "$status" .status)
	[ "$(cat "$status" "$work/$name.out")" = "$(printf '0\nok')" ] ||
		fail "$name: status $(cat "$status" "$work/$name.out")"
done
for program in waits interrupts; do
	for report in "$work/${program}_"*.jfr; do
		[ -s "$report" ] || fail "no report of $program, so nothing was tried"
	done
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB does not name it"
