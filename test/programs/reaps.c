/* Eight profiled children end, one after another, on a busy processor. Prints the
 * milliseconds of CPU time that this process used to wait for them. Usage: reaps
 * [programs|threads]: the children are programs with two threads instead of forks. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/profiled.h"

#define CHILDREN 8
#define OTHERS   2

static void fail(const char *what)
{
	perror(what);
	exit(9);
}

static void *sleep_on(void *unused)
{
	pause();
	return unused;
}

/* Until the agent has made a report. */
static int be_profiled(bool with_thread)
{
	struct timespec listed = { .tv_nsec = 20000000 };
	pthread_t thread;

	if (with_thread && pthread_create(&thread, NULL, sleep_on, NULL))
		fail("pthread_create");
	need_agent();
	nanosleep(&listed, NULL);
	asprof_agent_flush();
	return 0;
}

static int be_child(const char *how)
{
	if (!how)
		return be_profiled(false);
	execl("/proc/self/exe", "reaps", "child", how, (char *)NULL);
	return 9;
}

int main(int argc, char **argv)
{
	pid_t others[OTHERS], pid;
	double waited = 0, before;
	cpu_set_t one;
	int status;

	if (argc == 3)
		return be_profiled(!strcmp(argv[2], "threads"));
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
		if (!pid)
			exit(be_child(argv[1]));
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
