#!/bin/bash
# A parent that waits for a profiled child takes its entries out of /proc, and spins there while a thread does the
# same with entries of its own: none of ours, which are nice and would let it spin for long, has any.
. "$(dirname "$0")/agent.inc"

reaps=$(program reaps) || exit 1
profiled "$work/out" builtin START_DELAY=0 CHILDREN=off "$reaps" >"$work/said" 2>"$work/err" ||
	fail "$? $(cat "$work/err")"
# It is 1, or 35 and more.
[ "$(cat "$work/said")" -lt 25 ] || fail "its waits took $(cat "$work/said") ms of a processor"
