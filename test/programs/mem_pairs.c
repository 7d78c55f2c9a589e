/* Pairs of malloc and free of 16 to 1,040 bytes, some hundred alive at a time: prints the CPU
 * nanoseconds of a pair. Arguments: threads, millions of pairs in total, and the milliseconds for
 * the profiler's start. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ALIVE 128

static unsigned long pairs;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU time of the thread, because more threads than processors wait for each other. */
static void *run(void *spent)
{
	uint32_t random = 12345;
	void *alive[ALIVE] = { 0 };
	uint64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID);

	for (unsigned long i = 0; i < pairs; i++) {
		random = random * 1664525u + 1013904223u;
		free(alive[i % ALIVE]);
		alive[i % ALIVE] = malloc(16 + (random >> 22));
		*(volatile char *)alive[i % ALIVE] = 1;
	}
	for (int i = 0; i < ALIVE; i++)
		free(alive[i]);
	*(uint64_t *)spent = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	unsigned long millions = argc > 2 ? strtoul(argv[2], NULL, 10) : 20;
	pthread_t thread[64];
	uint64_t spent[64], sum = 0;

	if (argc > 3)
		usleep((useconds_t)atoi(argv[3]) * 1000);
	if (threads < 1 || threads > 64)
		return 2;
	pairs = millions * 1000000 / (unsigned long)threads;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, run, &spent[i]))
			return 1;
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		sum += spent[i];
	}
	printf("%.2f\n", (double)sum / (double)pairs / threads);
	return 0;
}
