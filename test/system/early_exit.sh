#!/bin/bash
# Programs that end while the agent starts an engine have the same status as without it, and no message. A program
# whose main thread ends early is profiled. If a program has exit handlers that are older than async-profiler, they
# run after async-profiler has stopped.
. "$(dirname "$0")/agent.inc"

program=$(program early_exit)
exit_order=$(program exit_order)
mkdir "$work/reports"

for engine in $(engines); do
	for how in return exit; do
		for ((i = 0; i < 60; i++)); do
			profiled "$work/reports" "$engine" "$program" $how >"$work/out" 2>&1
			status=$?
			[ $status = 3 ] || fail "$engine, $how, run $i: status $status"
			[ ! -s "$work/out" ] || fail "$engine, $how, run $i: $(cat "$work/out")"
		done
	done
	rm -f "$work/reports"/*
	profiled "$work/reports" "$engine" START_DELAY=50ms WALL_INTERVAL=10ms \
		"$program" pthread_exit 1500 >"$work/out" 2>&1
	status=$?
	[ $status = 3 ] || fail "$engine, pthread_exit: status $status"
	[ ! -s "$work/out" ] || fail "$engine, pthread_exit: $(cat "$work/out")"
	[ -n "$(ls "$work/reports")" ] || fail "$engine, pthread_exit: no report"
	[ "$engine" != builtin ] || continue # its thread uses nothing that they destroy
	profiled "$work/reports" "$engine" START_DELAY=50ms timeout 20 "$exit_order"
	status=$?
	[ $status = 3 ] || fail "$engine, exit_order: status $status"
done
echo ok
