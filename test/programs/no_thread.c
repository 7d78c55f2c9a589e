/* A child shares the program's memory, has no valid thread-local data, and ends with status 7 by
 * the C library. Chromium's zygote does that when it leaves its root. (Other functions of that
 * library would not work there with threads.) Prints "ok" if it worked. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/check.h"

#define STACK_BYTES (64u << 10)

static _Alignas(64) char stack[STACK_BYTES], nobodys[STACK_BYTES];

__attribute__((noreturn)) static int end(void *unused)
{
	(void)unused;
	_exit(7);
}

int main(void)
{
	int status;
	pid_t child = clone(end, stack + STACK_BYTES,
			    CLONE_VM | CLONE_FS | CLONE_VFORK | CLONE_SETTLS | SIGCHLD, NULL, NULL,
			    nobodys + STACK_BYTES / 2, NULL);

	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	puts(WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "ok" : "it crashed");
	return 0;
}
