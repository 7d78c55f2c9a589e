#!/bin/bash
# A program does not see the profiler's signal handlers. If it resets all signals, the handlers for the profiler's own
# faults stay.
. "$(dirname "$0")/agent.inc"

dispositions=$(program dispositions)
for engine in $(engines); do
	rm -rf "$work/out"
	got=$(profiled "$work/out" "$engine" "$dispositions" 2>&1) || fail "$engine: status $?: $got"
	[ -z "$got" ] || fail "$engine: $got"
done
echo ok
