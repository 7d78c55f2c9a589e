/* Eight children that are profiled and end, one after another, on one processor that others want too. Prints how
 * many milliseconds of CPU time this process has used for waiting for them. Usage: reaps */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

#define CHILDREN 8
#define OTHERS   3

static void fail(const char *what)
{
	perror(what);
	exit(9);
}

static double cpu_ms(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec / 1e6;
}

static void wait_for_agent(void)
{
	struct timespec step = { .tv_nsec = 1000000 };

	for (int i = 0; i < 30000 && !asprof_agent_running(); i++)
		nanosleep(&step, NULL);
	if (!asprof_agent_running())
		fail("no agent");
}

int main(void)
{
	pid_t others[OTHERS], pid;
	double waited = 0, before;
	cpu_set_t one;
	int status;

	wait_for_agent();
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
			wait_for_agent();
			exit(0);
		}
		before = cpu_ms();
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			fail("a child");
		waited += cpu_ms() - before;
	}
	for (int i = 0; i < OTHERS; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], &status, 0);
	}
	printf("%.0f\n", waited);
	return 0;
}
