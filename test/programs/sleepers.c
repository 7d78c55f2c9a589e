/* Has COUNT threads with 16 KiB of stack each, or as many as are allowed, that sleep in doze()
 * until all exist, and MS longer. Prints their number. Usage: sleepers COUNT MS [computes]
 * With a third argument, the main thread computes meanwhile. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "test/programs/check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER;
static int gone;

__attribute__((noinline)) static void doze(void)
{
	CHECK(!pthread_mutex_lock(&lock));
	while (!gone)
		CHECK(!pthread_cond_wait(&go, &lock));
	CHECK(!pthread_mutex_unlock(&lock));
}

static void *in_thread(void *unused)
{
	doze();
	return unused;
}

static void compute(long ms)
{
	struct timespec now, end;

	CHECK(!clock_gettime(CLOCK_MONOTONIC, &end));
	end.tv_sec += ms / 1000;
	do
		CHECK(!clock_gettime(CLOCK_MONOTONIC, &now));
	while (now.tv_sec <= end.tv_sec);
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? (size_t)atol(argv[1]) : 0, there = 0;
	long ms = argc > 2 ? atol(argv[2]) : 0;
	pthread_t *threads = calloc(count + 1, sizeof(*threads));
	pthread_attr_t attr;

	CHECK(threads && !pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, 16384));
	while (there < count && !pthread_create(&threads[there], &attr, in_thread, NULL))
		there++;
	if (argc > 3)
		compute(ms);
	else
		nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 },
			  NULL);
	pthread_mutex_lock(&lock);
	gone = 1;
	pthread_cond_broadcast(&go);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < there; i++)
		CHECK(!pthread_join(threads[i], NULL));
	printf("%zu\n", there);
	return 0;
}
