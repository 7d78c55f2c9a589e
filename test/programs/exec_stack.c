/* Shows how the kernel describes the alternate signal stack of a program that this one executes, after an exec that
 * fails. Before that, it waits until it is profiled. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "test/programs/profiled.h"

int main(int argc, char **argv)
{
	char *const none[] = { NULL }, *const again[] = { argv[0], "again", NULL };
	stack_t stack;

	if (argc > 1) {
		if (sigaltstack(NULL, &stack))
			return 1;
		printf("flags %x\n", (unsigned)stack.ss_flags);
		return 0;
	}
	need_agent();
	execve("/none", again, none);
	execve("/proc/self/exe", again, none);
	return 1;
}
