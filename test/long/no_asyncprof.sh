#!/bin/bash
# `make ASYNCPROF=0` builds the agent without a file of asyncprof/. That agent passes its unit tests, and system tests of
# real programs with the builtin engine.
. "$(dirname "$0")/../system/agent.inc"

[ "$B" = "$PWD/build" ] || skip "this builds a tree of its own"
unset ASPROF_TEST_LIB
B=build/no-asyncprof
make -j "$(nproc)" ASYNCPROF=0 all >"$work/log" 2>&1 || fail "$(tail -n 30 "$work/log")"
[ -z "$(find "$B" -path '*/obj/asyncprof/*')" ] || fail "it has objects of asyncprof/"
! grep -aq 'asprof-engine' "$B/libasprof_preload.so" || fail "it has the thread of async-profiler"
make -j "$(nproc)" ASYNCPROF=0 check-unit >"$work/log" 2>&1 || fail "$(tail -n 30 "$work/log")"
B=$B scripts/run-tests test/system/{samples,forks,live,run,signals,exits,mem_chain}.sh >"$work/log" 2>&1 ||
	fail "$(tail -n 30 "$work/log")"
