/* Cost of the stall watcher for one iteration of an event loop, in nanoseconds: of its start and
 * its end, without the wait itself, with and without the watcher. The loop iterates 100,000 times a
 * second. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "engine/sample/loop_iterations.h"

#define ITERATIONS 2000000
#define ROUNDS     9

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static __attribute__((noinline)) void iterate_once(int ready)
{
	loop_iteration_end();
	__asm__ volatile("" : "+r"(ready)); /* the wait */
	loop_iteration_begin(ready, 5);
}

static __attribute__((noinline)) void nothing(int ready)
{
	__asm__ volatile("" : "+r"(ready));
}

/* Of this thread, because the machine may be busy. */
static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* The median of some rounds. */
static double measure(void (*iterate)(int ready), bool is_watched)
{
	double rounds[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t began = cpu_ns();

		for (int i = 0; i < ITERATIONS; i++) {
			iterate(i);
			if (is_watched &&
			    i % 1000 == 0) /* every 10 ms, at 100,000 iterations a second */
				loop_iterations_check();
		}
		rounds[r] = (double)(cpu_ns() - began) / ITERATIONS;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), by_size);
	return rounds[ROUNDS / 2];
}

int main(void)
{
	double bare = measure(nothing, false), off = measure(iterate_once, false), on;

	signal(SIGRTMAX - 1, SIG_IGN); /* a machine that is busy may find one late */
	loop_iterations_open(10000000, 10000000000u, SIGRTMAX - 1); /* none is late */
	on = measure(iterate_once, true);
	loop_iterations_close();
	printf("an iteration, ns: not watched for %.1f, watched for %.1f (bound: 15)\n", off - bare,
	       on - bare);
	return 0;
}
