#!/bin/bash
# ENGINE_OPTIONS may ask for async-profiler's breakpoints (begin=, end=, ttsp; alloc= before JDK 11). They raise SIGTRAP, whose
# default action still ends a program that has a breakpoint of its own.
. "$(dirname "$0")/agent.inc"
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "this needs async-profiler"

cat >"$work/window.c" <<'C'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

__attribute__((noinline)) void window_opens(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void window_closes(void)
{
	__asm__ volatile("");
}

static void burn_ms(int ms)
{
	clock_t end = clock() + (clock_t)ms * (CLOCKS_PER_SEC / 1000);

	while (clock() < end)
		;
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 60; i++) {
		window_opens();
		burn_ms(20);
		window_closes();
	}
	puts("done");
	fflush(stdout);
	if (argc > 1)
		raise(SIGTRAP);
	return 0;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -o "$work/window" "$work/window.c" || exit 1
ulimit -c 0

# run OPTIONS STATUS COMMAND...
run() {
	options=$1 wanted=$2
	shift 2
	rm -rf "$work/out"
	profiled "$work/out" async-profiler CPU_INTERVAL=2ms WALL_INTERVAL=off ENGINE_OPTIONS="$options" "$@" \
		>"$work/said" 2>"$work/err"
	status=$?
	[ $status -eq "$wanted" ] || fail "$options: status $status: $(cat "$work/said" "$work/err")"
	[ "$(tail -n 1 "$work/said")" = "done" ] || fail "$options: $(cat "$work/said")"
}

run begin=window_opens,end=window_closes 0 "$work/window"
"$agent" collapsed --cpu "$work/out" | grep -q ";main" || fail "no samples in the window: $(cat "$work/err")"
run begin=window_opens,end=window_closes $((128 + 5)) "$work/window" trap
run '' $((128 + 5)) "$work/window" trap

command -v javac >/dev/null || exit 0
javac -d "$work" test/programs/Overflows.java || fail "javac"
run ttsp 0 java -cp "$work" Overflows 1500
