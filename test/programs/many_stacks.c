/* Has many different stacks of equal depth: each is a random path through four functions.
 *
 * Usage: many_stacks MS DEPTH [STACKS [PATHS]]
 *
 * Uses MS milliseconds of CPU time, a quarter of one on each path. With STACKS, it allocates once
 * on each of so many paths, keeps the block, and spreads that over MS milliseconds. With STACKS 0,
 * it ends a report after each PATHS. Prints the number of paths. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "test/programs/profiled.h"
#include "test/programs/random_path.h"

#define QUARTER_MS 0.25

static uint32_t seed = 1;
static int allocates;
static void *volatile kept;

__attribute__((noinline)) static void at_the_end(void)
{
	double end = thread_cpu_ms() + QUARTER_MS;

	if (allocates) {
		kept = malloc(64);
		return;
	}
	while (thread_cpu_ms() < end)
		;
}

int main(int argc, char **argv)
{
	int ms = argc > 1 ? atoi(argv[1]) : 1000, depth = argc > 2 ? atoi(argv[2]) : 100;
	struct timespec pause = { 0 };
	double end;
	int paths = 0, report = argc > 4 ? atoi(argv[4]) : 0;

	need_agent();
	allocates = argc > 3 ? atoi(argv[3]) : 0;
	if (allocates) {
		pause.tv_nsec = (long)(ms * 1e6 / (allocates / 64.0 + 1));
		for (; paths < allocates; paths++) {
			walk(&seed, depth);
			if (paths % 64 == 63)
				nanosleep(&pause, NULL);
		}
	} else {
		for (end = thread_cpu_ms() + ms; thread_cpu_ms() < end; paths++) {
			walk(&seed, depth);
			if (report && paths % report == report - 1)
				asprof_agent_flush();
		}
	}
	printf("%d\n", paths);
	return 0;
}
