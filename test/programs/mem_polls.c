/* Iterations of an event loop that allocate and, with an argument, also compute; then it ends. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void allocate(void)
{
	for (int i = 0; i < 20; i++) {
		void *volatile p = malloc(1000);

		free(p);
	}
}

static void compute(void)
{
	double end = seconds() + 0.002;

	while (seconds() < end)
		;
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 200 && !(asprof_agent_running && asprof_agent_running()); i++)
		usleep(10000);
	for (int turn = 0; turn < 100; turn++) {
		ASPROF_AGENT_POLL_BEGIN();
		allocate();
		if (argc > 1)
			compute();
		ASPROF_AGENT_POLL_END();
	}
	return 0;
}
