#!/bin/bash
# Calls that a profiler's signal interrupts go on with the time that is left; those that a
# handler of the program interrupts end.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
waits=$(program waits)

out=$("$waits") || fail "without the preload: $out"
out=$(LD_PRELOAD=$work/interpose_sampler.so "$waits" 2>"$work/err") || fail "status $?: $out"
[ "$out" = ok ] || fail "output: $out"

# With no samples, nothing would have been shown.
samples=$(sed -n 's/^exit: \([0-9]*\) samples, .*, 0 claimed$/\1/p' "$work/err")
[ "${samples:-0}" -gt 100 ] || fail "$(cat "$work/err")"
