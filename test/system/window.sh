#!/bin/bash
# A signal of the program ends a call that a sample has interrupted, even if it comes just before the restart of the
# call: by an interposer, by the kernel, or by a profiler that sets the pc back.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
window=$(program window)

try() {
	out=$(SAMPLER_US=0 LD_PRELOAD=$work/interpose_sampler.so "$@" 2>"$work/err") ||
		fail "status $?: $out $(cat "$work/err")"
	[ "$out" != 'no ptrace' ] || skip "no process can be traced here"
	[ "$out" = ok ] || fail "output: $out"
}

try "$window" 37
try env SAMPLER_SETS_BACK=1 "$window" 37 'poll for ever'
