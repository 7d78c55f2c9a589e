#!/bin/bash
# Calls that move many bytes do their whole work, and sleeps have the right length, though a profiler's signals
# interrupt them.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
transfers=$(program transfers)

out=$("$transfers") || fail "without the preload: $out"
out=$(SAMPLER_US=300 LD_PRELOAD=$work/interpose_sampler.so "$transfers" 2>"$work/err") ||
	fail "status $?: $out"
[ "$out" = ok ] || fail "output: $out"

# Without samples, the test would show nothing.
samples=$(sed -n 's/^exit: \([0-9]*\) samples, .*, 0 claimed$/\1/p' "$work/err")
[ "${samples:-0}" -gt 100 ] || fail "$(cat "$work/err")"
echo "$samples samples"
