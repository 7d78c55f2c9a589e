#!/bin/bash
# As waits.sh and signals.sh, with the signals of async-profiler.
. "$(dirname "$0")/interpose.inc"

[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB does not name async-profiler's library"
export TEST_RECORDING=$work/recording.jfr
interposers interpose_engine

# The sampling signals, and SIGTRAP, SIGSEGV.
for test in waits 'waits followed 60 61' 'signals 61 5 11'; do
	set -- $test
	name=$1
	shift
	path=$(program $name)
	out=$(LD_PRELOAD=$work/interpose_engine.so "$path" "$@" 2>"$work/err") ||
		fail "$name: status $?: $out $(cat "$work/err")"
	[ "$out" = ok ] || fail "$name: $out"
	# A sample takes at least ten bytes; without samples there are only the constants.
	[ "$(stat -c %s "$TEST_RECORDING")" -gt 10000 ] || fail "$name: no samples"
	rm "$TEST_RECORDING"
done
