/* Creates threads that use MICROSECONDS of CPU time each, one after another, a thousand a second or
 * as fast as possible, until they have used SECONDS of it. Starts when it is profiled. Prints their
 * CPU seconds. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "preload/asprof_agent.h"

#define NOINLINE __attribute__((noinline))

static uint64_t life_ns, total_ns;
static volatile uint64_t sink;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

NOINLINE void burn(void)
{
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < life_ns)
		for (int i = 0; i < 1000; i++)
			sink += (uint64_t)i * 3;
}

static void *live(void *unused)
{
	burn();
	total_ns += now_ns(CLOCK_THREAD_CPUTIME_ID);
	return unused;
}

static void wait_for_profiler(void)
{
	struct timespec step = { .tv_nsec = 1000000 };

	for (int i = 0; i < 20000 && asprof_agent_running && !asprof_agent_running(); i++)
		nanosleep(&step, NULL);
}

int main(int argc, char **argv)
{
	uint64_t next_ns, burn_ns;
	pthread_t thread;

	life_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 200) * 1000;
	wait_for_profiler();
	next_ns = now_ns(CLOCK_MONOTONIC);
	burn_ns = (uint64_t)((argc > 2 ? atof(argv[2]) : 1) * 1e9);
	while (total_ns < burn_ns) {
		struct timespec at = { .tv_sec = (time_t)(next_ns / 1000000000u),
				       .tv_nsec = (long)(next_ns % 1000000000u) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		if (pthread_create(&thread, NULL, live, NULL) || pthread_join(thread, NULL))
			return 1;
		next_ns += 1000000;
		if (next_ns < now_ns(CLOCK_MONOTONIC))
			next_ns = now_ns(CLOCK_MONOTONIC);
	}
	printf("%.4f\n", (double)total_ns / 1e9);
	return 0;
}
