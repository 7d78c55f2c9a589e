/* Executes itself N times, by each of the exec functions in turn, after some work; before each
 * there is a call that fails. Three of four are profiled before. Prints "ok" at the end. Usage:
 * execs N */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/programs/profiled.h"

extern char **environ;

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 20;
	volatile unsigned long sum = 0;
	char *again[] = { argv[0], NULL, NULL };
	char number[16];

	if (!left) {
		puts("ok");
		return 7;
	}
	snprintf(number, sizeof(number), "%d", left - 1);
	again[1] = number;
	if (left % 4)
		wait_for_agent(30000);
	for (int i = 0; i < 20000000; i++)
		sum += (unsigned long)i;
	if (execl("/no/such/program", "program", "with", "arguments", NULL) != -1 ||
	    errno != ENOENT)
		return 1;
	switch (left % 8) {
	case 0:
		return execl(argv[0], argv[0], number, NULL);
	case 1:
		return execlp(argv[0], argv[0], number, NULL);
	case 2:
		return execle(argv[0], argv[0], number, NULL, environ);
	case 3:
		return execv(argv[0], again);
	case 4:
		return execvp(argv[0], again);
	case 5:
		return execvpe(argv[0], again, environ);
	case 6:
		return fexecve(open(argv[0], O_RDONLY | O_CLOEXEC), again, environ);
	default:
		return execve(argv[0], again, environ);
	}
}
