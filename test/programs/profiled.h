/* For programs that act once they are profiled. */
#ifndef TEST_PROGRAMS_PROFILED_H
#define TEST_PROGRAMS_PROFILED_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

/* Wait until this process is profiled, for at most MS milliseconds; not at all without an agent.
 * Returns whether it is profiled. */
static inline bool wait_for_agent(int ms)
{
	struct timespec step = { .tv_nsec = 1000000 };

	if (!asprof_agent_running)
		return false;
	for (int i = 0; i < ms && !asprof_agent_running(); i++)
		nanosleep(&step, NULL);
	return asprof_agent_running();
}

/* The same, for a program that needs the agent. */
static inline void need_agent(void)
{
	if (wait_for_agent(30000))
		return;
	fputs("no agent\n", stderr);
	_exit(9);
}

/* Of the calling thread. */
static inline double thread_cpu_ms(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec / 1e6;
}

/* A process's work in the function NAME: it waits until it is profiled, prints "NAME PID", and uses
 * MS milliseconds of CPU time. */
#define BURN_AS(name, ms)                                                  \
	do {                                                               \
		double end;                                                \
		need_agent();                                              \
		dprintf(STDOUT_FILENO, #name " %d\n", getpid());           \
		for (end = thread_cpu_ms() + (ms); thread_cpu_ms() < end;) \
			;                                                  \
	} while (0)

#endif
