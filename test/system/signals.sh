#!/bin/bash
# A sampler's signal cannot be seen, blocked or waited for by the program, and is the program's
# when it wants it.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
signals=$(program signals)

out=$("$signals" 37) || fail "without the preload: $out"
out=$(LD_PRELOAD=$work/interpose_sampler.so "$signals" 37 2>"$work/err") ||
	fail "status $?: $out $(cat "$work/err")"
[ "$out" = ok ] || fail "output: $out"

# The line of this process is its last; children of it print their own.
line=$(tail -n 1 "$work/err")
samples=$(echo "$line" | sed -n 's/^exit: [0-9]* samples, \([0-9]*\) blocked, 2 claimed$/\1/p')
[ "${samples:-0}" -gt 0 ] || fail "$line"
