#!/bin/bash
# A program's handlers of faults run with their signal mask and on their stack, also when the engine, which starts
# later, has handlers of faults in front of them.
. "$(dirname "$0")/agent.inc"

masks=$(program fault_masks) || exit 1
for engine in $(engines); do
	got=$(profiled "$work/$engine" "$engine" START_DELAY=500ms CPU_INTERVAL=1ms "$masks" 2>&1) ||
		fail "$engine: status $?: $got"
	[ "$got" = "done" ] || fail "$engine: $got"
done
