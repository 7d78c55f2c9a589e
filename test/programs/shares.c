/* Runs four functions in turn, until they have used SECONDS of CPU time since it was profiled. For
 * each it prints the name and the seconds of CPU time, by the thread's own clock.
 * usage: shares SECONDS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

static volatile double sink;

static double cpu_seconds(void)
{
	struct timespec used;

	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used));
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* All of them together take about as long as the kernel's tick: only then can samples prefer one of them. */
#define WORK(name, turns)                                  \
	__attribute__((noinline)) static void name(void)   \
	{                                                  \
		for (int i = 0; i < (turns); i++)          \
			sink = sink * 1.0000001 + (turns); \
	}

WORK(most, 640000)
WORK(some, 180000)
WORK(less, 110000)
WORK(least, 60000)

static struct {
	const char *name;
	void (*run)(void);
	double spent;
} parts[] = {
	{ "most", most, 0 }, { "some", some, 0 }, { "less", less, 0 }, { "least", least, 0 }
};

#define PARTS (sizeof(parts) / sizeof(*parts))

int main(int argc, char **argv)
{
	double end;

	CHECK(argc == 2);
	while (asprof_agent_running && !asprof_agent_running())
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	end = cpu_seconds() + atof(argv[1]);
	while (cpu_seconds() < end) {
		for (size_t i = 0; i < PARTS; i++) {
			double begun = cpu_seconds();

			parts[i].run();
			parts[i].spent += cpu_seconds() - begun;
		}
	}
	for (size_t i = 0; i < PARTS; i++)
		printf("%s %f\n", parts[i].name, parts[i].spent);
	return 0;
}
