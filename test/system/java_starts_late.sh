#!/bin/bash
# async-profiler names Java's methods also if it starts while the Java VM is being created: the VM has started all its
# threads, and JNI_GetCreatedJavaVMs() does not find it yet (JDK 21 and later).
. "$(dirname "$0")/agent.inc"
have java javac
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "this needs async-profiler"
javac -d "$work" test/programs/LateServer.java || fail "javac"
late=$(program late_vm -shared -fPIC)

preload=$preload:$late
profiled "$work/out" async-profiler CPU_INTERVAL=5ms PROCESS=java java -cp "$work" LateServer \
	>"$work/said" 2>"$work/err" || fail "status $?: $(cat "$work/said" "$work/err")"
[ "$(cat "$work/said")" = "done" ] || fail "$(cat "$work/said")"
[ ! -s "$work/err" ] || fail "$(cat "$work/err")"
"$agent" collapsed --cpu "$work/out" >"$work/stacks" || fail "no samples"
grep -q 'LateServer\.' "$work/stacks" || fail "no Java method: $(cut -c1-300 "$work/stacks" | head -n 20)"
