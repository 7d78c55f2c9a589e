/* A program of known shape: two threads burn CPU in two functions, two parts to one, and one
 * sleeps, for SECONDS from when it is profiled. Prints the CPU seconds of each burner. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

#define NOINLINE __attribute__((noinline))

static uint64_t end_ns;
static pthread_barrier_t done;
static volatile uint64_t sink;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Each burns CPU time in its own frame; the work differs so that they are not folded. */
NOINLINE void burn_heavy(uint64_t cpu_ns)
{
	uint64_t until = now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	do {
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i * 3;
	} while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until);
}

NOINLINE void burn_light(uint64_t cpu_ns)
{
	uint64_t until = now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	do {
		for (int i = 0; i < 20000; i++)
			sink ^= (uint64_t)i * 5;
	} while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until);
}

/* All threads live to the end: async-profiler does not name those that are gone. */
static void finish(void)
{
	pthread_barrier_wait(&done);
	pause();
}

static void *burner(void *name)
{
	pthread_setname_np(pthread_self(), name);
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		burn_heavy(2000000);
		burn_light(1000000);
	}
	printf("%s %.3f\n", (char *)name, (double)now_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9);
	finish();
	return NULL;
}

NOINLINE void wait_long(void)
{
	struct timespec step = { .tv_sec = 1 };

	while (now_ns(CLOCK_MONOTONIC) < end_ns)
		nanosleep(&step, NULL);
}

static void *sleeper(void *name)
{
	pthread_setname_np(pthread_self(), name);
	wait_long();
	finish();
	return NULL;
}

static void wait_for_profiler(void)
{
	struct timespec step = { .tv_nsec = 1000000 };

	for (int i = 0; i < 20000 && asprof_agent_running && !asprof_agent_running(); i++)
		nanosleep(&step, NULL);
}

int main(int argc, char **argv)
{
	static char *names[] = { "burner-1", "burner-2", "sleeper" };
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	pthread_t thread;

	wait_for_profiler();
	pthread_barrier_init(&done, NULL, 4);
	end_ns = now_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, i < 2 ? burner : sleeper, names[i]);
	pthread_barrier_wait(&done);
	return 0;
}
