#!/bin/bash
# async-profiler's library is where the package asprof-agent-java has it, without a setting. Java programs are
# profiled with it, other programs with the builtin engine. If async-profiler is selected, it profiles any program.
# `doctor` finds it.
. "$(dirname "$0")/agent.inc"
have java
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB names no async-profiler"

mkdir -p "$work/lib/asprof-agent/java" "$work/bin"
cp "$B/libasprof_preload.so" "$work/lib/"
cp "$agent" "$work/bin/"
preload=$work/lib/libasprof_preload.so
cat >"$work/Busy.java" <<'J'
public class Busy {
	public static void main(String[] arguments) {
		double x = 0;

		for (long end = System.nanoTime() + 1500000000L; System.nanoTime() < end;)
			for (int i = 0; i < 1000; i++)
				x = x * 1.000001 + i;
		System.out.println(x > 0 ? "done" : "nothing");
	}
}
J

# without_settings COMMAND...: with its log in $work/log and its reports in $work/out.
without_settings() {
	rm -rf "$work/out"
	LD_PRELOAD=$preload ASPROF_AGENT_LOCAL_DIR=$work/out ASPROF_AGENT_LOG=info ASPROF_AGENT_EXIT_TIMEOUT=30s \
		"$@" >"$work/said" 2>"$work/log" || fail "$*: status $?: $(cat "$work/log")"
}

# profiled_with ENGINE PROGRAM
profiled_with() {
	grep -q "profiling $2 with $1" "$work/log" || fail "$2: not with $1: $(cat "$work/log")"
}

without_settings java "$work/Busy.java"
profiled_with builtin java
"$work/bin/asprof-agent" doctor -- java >"$work/doctor" 2>&1
grep -q 'Install the package asprof-agent-java' "$work/doctor" || fail "doctor: $(cat "$work/doctor")"

cp "$ASPROF_TEST_LIB" "$work/lib/asprof-agent/java/libasyncProfiler.so"
without_settings java "$work/Busy.java"
profiled_with async-profiler java
"$agent" collapsed --cpu "$work/out" | grep -q 'Busy\.main' || fail "no method: $("$agent" collapsed --cpu "$work/out" | head)"
"$work/bin/asprof-agent" doctor -- java >"$work/doctor" 2>&1
! grep -q 'asprof-agent-java' "$work/doctor" || fail "doctor: $(cat "$work/doctor")"

without_settings sleep 1
profiled_with builtin sleep
export ASPROF_AGENT_ENGINE=async-profiler
without_settings sleep 1
profiled_with async-profiler sleep
# Another file name means the library of that name.
ASPROF_AGENT_LIB=libother.so without_settings sleep 1
grep -q 'cannot find libother.so' "$work/log" || fail "libother.so: $(cat "$work/log")"
echo ok
