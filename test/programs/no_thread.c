/* Has a child that shares its memory, and whose thread-local data is nobody's, write a line and end with status 7 by
 * the C library, as Chromium's zygote has one leave its root. Status 0 where it did. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/check.h"

#define STACK_BYTES (64u << 10)

static _Alignas(64) char stack[STACK_BYTES], nobodys[STACK_BYTES];

__attribute__((noreturn)) static int end(void *unused)
{
	(void)unused;
	_exit(write(STDOUT_FILENO, "ok\n", 3) == 3 ? 7 : 8);
}

int main(void)
{
	int status;
	pid_t child = clone(end, stack + STACK_BYTES,
			    CLONE_VM | CLONE_FS | CLONE_VFORK | CLONE_SETTLS | SIGCHLD, NULL, NULL,
			    nobodys + STACK_BYTES / 2, NULL);

	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
}
