#!/bin/bash
# The program cannot see, block or wait for a sampler's signal, until it uses that signal itself.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
signals=$(program signals)

out=$("$signals" 37) || fail "without the preload: $out"
out=$(LD_PRELOAD=$work/interpose_sampler.so "$signals" 37 2>"$work/err") ||
	fail "status $?: $out $(cat "$work/err")"
[ "$out" = ok ] || fail "output: $out"

# The last line is of this process; its children print their own lines.
line=$(tail -n 1 "$work/err")
samples=$(echo "$line" | sed -n 's/^exit: [0-9]* samples, \([0-9]*\) blocked, 3 claimed$/\1/p')
[ "${samples:-0}" -gt 0 ] || fail "$line"
