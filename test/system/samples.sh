#!/bin/bash
# The handler of samples: its stack, the memory that it may read, and the calls that the interposers restart after it.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
program between -shared -fPIC >"$work/log" || fail "$(cat "$work/log")"
preloads="$work/interpose_sampler.so $work/between"
out=$(BETWEEN=37 LD_PRELOAD=$preloads "$(program samples)" 37 2>"$work/err") ||
	fail "status $?: $out $(cat "$work/err")"
[ "$out" = ok ] || fail "output: $out"
