#!/bin/bash
# A program that uses a sampling signal without a handler: it waits for it, ignores it, or is ended by it, as without
# us.
. "$(dirname "$0")/agent.inc"

waited=$(program signal_waited)
for engine in $(engines); do
	[ "$engine" = builtin ] && signals=63 || signals='60 61'
	for signo in $signals; do
		for how in sigwait sigtimedwait signalfd all ignored default; do
			bare=$("$waited" "$signo" $how 2>&1)
			status=$?
			said=$(profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=1ms timeout 60 "$waited" "$signo" \
				$how 2>"$work/err")
			[ $? -eq $status ] && [ "$said" = "$bare" ] ||
				fail "$engine, signal $signo, $how: $said $(cat "$work/err"); bare: $bare, status $status"
		done
	done
done
