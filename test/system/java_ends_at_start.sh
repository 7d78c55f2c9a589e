#!/bin/bash
# A Java program whose last thread ends while async-profiler starts ends as without it. (async-profiler uses the thread's
# JNIEnv, which is NULL then.)
. "$(dirname "$0")/agent.inc"
have java javac
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "this needs async-profiler"
javac -d "$work" test/programs/EndsAtStart.java || fail "javac"
slow=$(program slow_dlsym -shared -fPIC)

STARTED=$work/started LD_PRELOAD=$preload:$slow ASPROF_AGENT_LOCAL_DIR=$work/out ASPROF_AGENT_ENGINE=async-profiler \
	ASPROF_AGENT_LIB=$ASPROF_TEST_LIB ASPROF_AGENT_START_DELAY=0 \
	java -cp "$work" EndsAtStart >"$work/said" 2>"$work/err"
status=$?
[ $status -eq 0 ] || fail "status $status: $(head -n 12 "$work/said")"
[ "$(cat "$work/said")" = "done" ] || fail "$(cat "$work/said")"
grep -v 'the Java VM has ended while async-profiler used it; profiling is off in this process$' "$work/err" &&
	fail "another message"
exit 0
