/* Runs and sleeps for short moments in turn, until it has used 400 ms of CPU time since it was
 * profiled; prints the milliseconds. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define MS 1000000L

static long cpu_ns(void)
{
	struct timespec now;

	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

__attribute__((noinline)) static void run(long ns)
{
	long until = cpu_ns() + ns;

	while (cpu_ns() < until)
		;
}

int main(void)
{
	const struct timespec moment = { .tv_nsec = MS };
	long begun;

	CHECK(asprof_agent_running);
	while (!asprof_agent_running())
		nanosleep(&moment, NULL);
	begun = cpu_ns();
	while (cpu_ns() < begun + 400 * MS) {
		run(MS);
		nanosleep(&moment, NULL);
	}
	printf("%ld\n", (cpu_ns() - begun) / MS);
	return 0;
}
