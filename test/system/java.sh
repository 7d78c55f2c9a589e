#!/bin/sh
# Java with async-profiler, which starts after the JVM: soon after it, or much later. It loads its own classes in a
# thread of the agent. A second start, which would end such a process, is refused with a line.
. "$(dirname "$0")/agent.inc"
have java javac
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB names no async-profiler"

cat >"$work/Turns.java" <<'J'
public class Turns {
	static double turn(double x) {
		for (int i = 0; i < 1000; i++)
			x = x * 1.000001 + i;
		return x;
	}

	static long cpuMs() {
		return ProcessHandle.current().info().totalCpuDuration().get().toMillis();
	}

	// For so many milliseconds, and then for 300 of CPU time, which may take long on a busy machine.
	public static void main(String[] arguments) throws Exception {
		long until = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000L;
		double x = 0;

		while (System.nanoTime() < until)
			x = turn(x);
		for (long end = cpuMs() + 300; cpuMs() < end;)
			x = turn(x);
		System.out.println(x > 0 ? "done" : "nothing");
	}
}
J
javac -d "$work" "$work/Turns.java" || fail "javac"

for delay in 0 100ms 2s; do
	place=$work/$delay
	profiled "$place" async-profiler START_DELAY=$delay CPU_INTERVAL=5ms PROCESS=java \
		java -cp "$work" Turns 4000 >"$work/out" 2>"$work/err" ||
		fail "after $delay: status $?: $(cat "$work/out" "$work/err")"
	[ "$(cat "$work/out")" = "done" ] || fail "after $delay: $(cat "$work/out")"
	[ ! -s "$work/err" ] || fail "after $delay: $(cat "$work/err")"
	"$agent" top --cpu "$place" >"$work/top" || fail "after $delay: no samples"
	grep -q 'Turns\.turn\|Turns\.main' "$work/top" || fail "after $delay: $(cat "$work/top")"
done

cat >"$work/again.c" <<'C'
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

static void *run(void *unused)
{
	while (asprof_agent_running() != 1)
		usleep(10000);
	asprof_agent_stop();
	asprof_agent_start();
	return unused;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	pthread_create(&thread, 0, run, 0);
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -shared -fPIC -o "$work/again.so" "$work/again.c" || exit 1
preload="$preload $work/again.so"
profiled "$work/twice" async-profiler START_DELAY=2s PROCESS=java java -cp "$work" Turns 10000 >"$work/out" 2>"$work/err" ||
	fail "a second time: status $?: $(cat "$work/out" "$work/err")"
[ "$(cat "$work/out")" = "done" ] || fail "a second time: $(cat "$work/out")"
grep -q 'a second time in a process of Java' "$work/err" || fail "a second time: no line: $(cat "$work/err")"
