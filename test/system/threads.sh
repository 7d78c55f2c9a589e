#!/bin/bash
# Each thread's start and end are recorded, for every way to end, and the threads run as without the agent.
. "$(dirname "$0")/interpose.inc"

interposers interpose_hooks
threads=$(program threads)

[ "$("$threads")" = ok ] || fail "fails without the preload"
out=$(LD_PRELOAD=$work/interpose_hooks.so "$threads" 2>"$work/err") || fail "status $?: $out"
[ "$out" = ok ] || fail "output: $out"
grep -qx 'exiting 0: 104 started, 104 ended, 0 bad' "$work/err" || fail "$(cat "$work/err")"
