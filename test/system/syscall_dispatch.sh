#!/bin/bash
# Syscall User Dispatch: the kernel passes each system call that is not made by the C library's code back to the
# program. It passes back none of the agent's, in any call of the program. The agent's thread creates no list of
# semaphore undos for the process either, which kcmp(2) would show.
. "$(dirname "$0")/agent.inc"

dispatches=$(program dispatches -ldl) || exit 1
bare=$("$dispatches" 2>&1)
[ $? != 77 ] || skip "the kernel has no Syscall User Dispatch, or there is no glibc"
[ "$bare" = 0 ] || fail "bare: $bare"
for engine in $(engines); do
	for raw in '' raw; do
		rm -rf "$work/out"
		# shellcheck disable=SC2086 # none, or one
		got=$(profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=1ms NATIVE_MEM=10k STALLS=1ms \
			"$dispatches" $raw 2>"$work/err") || fail "$engine $raw: status $?: $(cat "$work/err")"
		[ "$got" = 0 ] || fail "$engine $raw: $got calls: $(cat "$work/err")"
		[ "$(grep -c 'profiling is off' "$work/err")" = "$(wc -l <"$work/err")" ] || fail "$engine $raw: $(cat "$work/err")"
		"$agent" collapsed --cpu "$work/out" | grep -q burn || fail "$engine $raw: no samples of before"
	done
done

cat >"$work/undoes.c" <<'C'
#include <linux/kcmp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/profiled.h"

/* Neither this process nor its child has a list, so the kernel reports that they are equal: 0. */
int main(void)
{
	long same;
	pid_t child;

	wait_for_agent(30000);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	same = syscall(SYS_kcmp, getpid(), child, KCMP_SYSVSEM, 0, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("%ld\n", same);
	return 0;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -include signal.h -o "$work/undoes" "$work/undoes.c" || exit 1
[ "$("$work/undoes")" = 0 ] || skip "kcmp(2) is not to be had here"
# (async-profiler's thread is one of the C library, which requests a list for each of its threads.)
got=$(profiled "$work/out" builtin "$work/undoes") || fail "kcmp: status $?"
[ "$got" = 0 ] || fail "kcmp says $got"
