#!/bin/bash
# LOCK samples waits for Java's locks, with async-profiler. A program without Java, and one that never waits for a lock, is
# profiled as without that setting.
. "$(dirname "$0")/agent.inc"
have java javac
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB names no async-profiler"

cat >"$work/Convoy.java" <<'J'
public class Convoy {
	static final Object lock = new Object();

	static void holds() throws Exception {
		synchronized (lock) {
			Thread.sleep(5);
		}
	}

	// Four threads that contend, until enough time was waited.
	public static void main(String[] arguments) throws Exception {
		long until = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000L;
		Thread[] threads = new Thread[4];

		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> {
				try {
					while (System.nanoTime() < until)
						holds();
				} catch (Exception e) {
					throw new RuntimeException(e);
				}
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		System.out.println("done");
	}
}
J
javac -d "$work" "$work/Convoy.java" || fail "javac"
profiled "$work/java" async-profiler LOCK=10ms PROCESS=java java -cp "$work" Convoy 4000 >"$work/out" 2>"$work/err" ||
	fail "status $?: $(cat "$work/out" "$work/err")"
[ "$(cat "$work/out")" = "done" ] && [ ! -s "$work/err" ] || fail "$(cat "$work/out" "$work/err")"
"$agent" top --lock "$work/java" >"$work/top" 2>&1 || fail "no locks: $(cat "$work/top")"
grep -q 'Convoy\.holds' "$work/top" || fail "$(cat "$work/top")"

cat >"$work/native.c" <<'C'
#include "test/programs/profiled.h"

int main(void)
{
	BURN_AS(native, 300);
	return 0;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O2 -o "$work/native" "$work/native.c" || exit 1
for engine in async-profiler builtin; do
	profiled "$work/$engine" "$engine" LOCK=10ms CPU_INTERVAL=5ms "$work/native" >"$work/out" 2>"$work/err" ||
		fail "$engine: status $?: $(cat "$work/err")"
	"$agent" collapsed --cpu "$work/$engine" | grep -q main || fail "$engine: no samples"
	[ ! -s "$work/err" ] || fail "$engine: says $(cat "$work/err")"
done
"$agent" top --lock "$work/builtin" 2>&1 | grep -q 'that needs run --lock 10ms' || fail "no hint"
