#!/bin/bash
# The rest of a transfer is made only if a sample has cut it off, and without effects that the program would notice.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
rests=$(program rests)
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -fPIC -fvisibility=hidden -shared \
	-o "$work/cuts.so" test/programs/cuts.c || exit 1

out=$(SAMPLER_US=0 LD_PRELOAD="$work/interpose_sampler.so $work/cuts.so" "$rests" 2>"$work/err") ||
	fail "status $?: $out"
[ "${out#"no kernel log"$'\n'}" = ok ] || fail "output: $out"

# Without samples, the test would show nothing.
samples=$(sed -n 's/^exit: \([0-9]*\) samples, .*, 0 claimed$/\1/p' "$work/err")
[ "${samples:-0}" -ge 30 ] || fail "$(cat "$work/err")"
