/* Eight children that are profiled and end, one after another, on one processor that others want too. Prints how
 * many milliseconds of CPU time this process has used for waiting for them. Usage: reaps */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/profiled.h"

#define CHILDREN 8
#define OTHERS   3

static void fail(const char *what)
{
	perror(what);
	exit(9);
}

int main(void)
{
	pid_t others[OTHERS], pid;
	double waited = 0, before;
	cpu_set_t one;
	int status;

	need_agent();
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		fail("sched_setaffinity");
	for (int i = 0; i < OTHERS; i++) {
		others[i] = fork();
		while (!others[i])
			;
	}
	for (int i = 0; i < CHILDREN; i++) {
		pid = fork();
		if (!pid) {
			need_agent();
			exit(0);
		}
		before = thread_cpu_ms();
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			fail("a child");
		waited += thread_cpu_ms() - before;
	}
	for (int i = 0; i < OTHERS; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], &status, 0);
	}
	printf("%.0f\n", waited);
	return 0;
}
