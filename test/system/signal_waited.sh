#!/bin/bash
# A program that uses a sampling signal without a handler: it waits for it, ignores it, or is ended by it, as without
# the agent.
. "$(dirname "$0")/agent.inc"

waited=$(program signal_waited)
for engine in $(engines); do
	[ "$engine" = builtin ] && signals=63 || signals='60 61 63'
	for signo in $signals; do
		for how in sigwait sigtimedwait signalfd later 'later, all' all ignored default; do
			# async-profiler continues, and a set of all signals does not include its own.
			[ "$how" != 'later, all' ] || [ "$engine" = builtin ] || continue
			bare=$("$waited" "$signo" "$how" 2>&1)
			status=$?
			said=$(profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=1ms timeout 60 "$waited" "$signo" \
				"$how" 2>"$work/err")
			[ $? -eq $status ] && [ "$said" = "$bare" ] ||
				fail "$engine, signal $signo, $how: $said $(cat "$work/err"); bare: $bare, status $status"
		done
	done
done
