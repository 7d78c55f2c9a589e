/* A hundred threads that sleep most of the time, and use 50 ms of CPU time each. Prints their sum
 * in milliseconds. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define THREADS  100
#define BURSTS   10
#define BURST_MS 5
#define PAUSE_MS 50
#define MS       1000000L

static pthread_barrier_t end;
static atomic_long all_ns;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * MS }, NULL);
}

static long cpu_ns(void)
{
	struct timespec used;

	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used));
	return used.tv_sec * 1000 * MS + used.tv_nsec;
}

__attribute__((noinline)) static void work(void)
{
	long until = cpu_ns() + BURST_MS * MS;

	while (cpu_ns() < until)
		;
}

static void *live(void *unused)
{
	for (int i = 0; i < BURSTS; i++) {
		work();
		pause_ms(PAUSE_MS);
	}
	atomic_fetch_add(&all_ns, cpu_ns());
	/* Alive when the last report is made. */
	pthread_barrier_wait(&end);
	for (;;)
		pause_ms(PAUSE_MS);
	return unused;
}

int main(void)
{
	pthread_t thread;

	while (asprof_agent_running && !asprof_agent_running())
		pause_ms(1);
	CHECK(!pthread_barrier_init(&end, NULL, THREADS + 1));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread, NULL, live, NULL));
	pthread_barrier_wait(&end);
	printf("%ld\n", all_ns / MS);
	return 0;
}
