#!/bin/bash
# A program that destroys its Java VM and continues is not profiled any more by async-profiler, which ended with the
# VM. A line reports that.
. "$(dirname "$0")/agent.inc"
have java javac
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "this needs async-profiler"
home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
[ -f "$home/include/jni.h" ] || skip "jni.h is not on this machine"

vm=$home/lib/server
destroys=$(program destroys_vm "-I$home/include" "-I$home/include/linux" "-L$vm" "-Wl,-rpath,$vm" -Wl,--no-as-needed \
	-ljvm) || exit 1
profiled "$work/out" async-profiler REPORTING_INTERVAL=1s CPU_INTERVAL=10ms \
	"$destroys" "$work/err" >"$work/said" 2>"$work/err" || fail "status $?: $(cat "$work/said" "$work/err")"
[ "$(cat "$work/said")" = "done" ] || fail "$(cat "$work/said")"
grep -q 'ended with the Java VM, but the program continues; profiling ends$' "$work/err" || fail "no line: $(cat "$work/err")"
"$agent" collapsed --cpu "$work/out" | grep -q main || fail "no samples of the time before"
