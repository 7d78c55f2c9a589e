/* A program of known shape: two threads use SECONDS of CPU time each in two functions, in the
 * proportion two to one, and one sleeps meanwhile, from when it is profiled. Prints the CPU seconds
 * of each thread and how long the third slept. The work depends only on its own clock. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

#define NOINLINE __attribute__((noinline))

static uint64_t burn_ns;
static int burning = 2;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t burned = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t done;
static volatile uint64_t sink;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Each uses CPU time in its own frame; the work differs because the linker would fold equal
 * functions. */
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

/* All threads live to the end: async-profiler does not name ended ones. */
static void finish(void)
{
	pthread_barrier_wait(&done);
	pause();
}

static void *burner(void *name)
{
	pthread_setname_np(pthread_self(), name);
	/* Each takes many samples, so the side of an end on which a sample falls matters little. */
	for (int i = 0; i < 2; i++) {
		burn_heavy(burn_ns / 3);
		burn_light(burn_ns / 6);
	}
	printf("%s %.3f\n", (char *)name, (double)now_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9);
	pthread_mutex_lock(&lock);
	burning--;
	pthread_cond_signal(&burned);
	pthread_mutex_unlock(&lock);
	finish();
	return NULL;
}

NOINLINE void wait_long(void)
{
	pthread_mutex_lock(&lock);
	while (burning)
		pthread_cond_wait(&burned, &lock);
	pthread_mutex_unlock(&lock);
}

static void *sleeper(void *name)
{
	uint64_t began_ns;

	pthread_setname_np(pthread_self(), name);
	began_ns = now_ns(CLOCK_MONOTONIC);
	wait_long();
	printf("%s %.3f\n", (char *)name, (double)(now_ns(CLOCK_MONOTONIC) - began_ns) / 1e9);
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
	pthread_t thread;

	burn_ns = (uint64_t)((argc > 1 ? atof(argv[1]) : 2) * 1e9);
	wait_for_profiler();
	pthread_barrier_init(&done, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, i < 2 ? burner : sleeper, names[i]);
	pthread_barrier_wait(&done);
	return 0;
}
