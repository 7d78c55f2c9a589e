#!/bin/bash
# A program that has the kernel hand back each system call that is not made from the C library's code (Syscall User
# Dispatch) is handed none of ours, in whatever it calls; nor does the agent's thread give the process a list of what
# semaphores are to undo, by which kcmp(2) tells processes apart.
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

/* Neither this process nor its child has a list: so the kernel says that they have the same, 0. */
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
# (async-profiler's thread is the C library's, which asks for a list with each of its threads.)
got=$(profiled "$work/out" builtin "$work/undoes") || fail "kcmp: status $?"
[ "$got" = 0 ] || fail "kcmp says $got"
