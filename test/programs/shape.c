/* A program of known shape: two threads burn CPU in two functions, two parts to one, and one
 * sleeps. Usage: shape SECONDS. Prints the CPU seconds of each burner at the end. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static uint64_t end_ns;
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

static void *burner(void *name)
{
	pthread_setname_np(pthread_self(), name);
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		burn_heavy(2000000);
		burn_light(1000000);
	}
	printf("%s %.3f\n", (char *)name, (double)now_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9);
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
	return NULL;
}

int main(int argc, char **argv)
{
	static char *names[] = { "burner-1", "burner-2", "sleeper" };
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	pthread_t threads[3];

	end_ns = now_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, i < 2 ? burner : sleeper, names[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
