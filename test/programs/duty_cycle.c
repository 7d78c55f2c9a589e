/* THREADS threads that compute for RUN milliseconds and sleep for SLEEP in turn, for SECONDS.
 * Prints the share of their time in compute(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 10

static double run_ms, sleep_ms, seconds;
static double busy[THREADS_MAX], lived[THREADS_MAX];
static size_t thread_count;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void compute(void)
{
	double end = now() + run_ms / 1e3;
	volatile unsigned long x = 0;

	while (now() < end)
		for (int i = 0; i < 1000; i++)
			x += (unsigned long)i;
}

static void *cycle(void *argument)
{
	size_t i = (size_t)argument;
	struct timespec sleeping = { .tv_nsec = (long)(sleep_ms * 1e6) };
	double start, before;

	usleep((useconds_t)(1000 * (run_ms + sleep_ms) * (double)i / (double)thread_count));
	start = now();
	while (now() < start + seconds) {
		before = now();
		compute();
		busy[i] += now() - before;
		nanosleep(&sleeping, NULL);
	}
	lived[i] = now() - start;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	double all_busy = 0, all_lived = 0;

	if (argc != 5)
		return 2;
	run_ms = atof(argv[1]);
	sleep_ms = atof(argv[2]);
	seconds = atof(argv[3]);
	thread_count = (size_t)atoi(argv[4]);
	if (thread_count > THREADS_MAX)
		return 2;
	for (size_t i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, cycle, (void *)i))
			return 2;
	for (size_t i = 0; i < thread_count; i++) {
		pthread_join(threads[i], NULL);
		all_busy += busy[i];
		all_lived += lived[i];
	}
	printf("%.4f\n", all_busy / all_lived);
	return 0;
}
