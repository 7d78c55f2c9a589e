#!/bin/bash
# A program sees none of the handlers that are there for its profiler, and when it resets all signals, those that
# the profiler's own faults need stay.
. "$(dirname "$0")/agent.inc"

dispositions=$(program dispositions)
for engine in $(engines); do
	rm -rf "$work/out"
	got=$(profiled "$work/out" "$engine" "$dispositions" 2>&1) || fail "$engine: status $?: $got"
	[ -z "$got" ] || fail "$engine: $got"
done
echo ok
