/* Threads whose data is taken down as they end: each destructor works, allocates, waits, and sets its data again, so
 * that it is called as often as the C library does it at most; its key is the first of the program (early) or a late one
 * (late). Prints "ok". */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define THREADS 20
#define ROUNDS  PTHREAD_DESTRUCTOR_ITERATIONS
#define WORK_US 4000

static pthread_key_t key;
static atomic_int calls;
static __thread volatile char own[4096]; /* of the thread until it is gone */

static void work(void)
{
	struct timespec start, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 <
	       WORK_US);
}

__attribute__((noinline)) static void take_down(void *data)
{
	char *block;

	atomic_fetch_add(&calls, 1);
	for (size_t size = 1; size < 65536; size *= 2) {
		block = malloc(size);
		CHECK(block);
		memset(block, 1, size);
		free(block);
	}
	own[sizeof(own) - 1]++;
	work();
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	CHECK(!pthread_setspecific(key, data));
}

static void *in_thread(void *data)
{
	CHECK(!pthread_setspecific(key, data));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pthread_key_t others[100];

	CHECK(argc == 2);
	for (size_t i = 0; !strcmp(argv[1], "late") && i < 100; i++)
		CHECK(!pthread_key_create(&others[i], NULL));
	CHECK(!pthread_key_create(&key, take_down));
	for (int i = 0; asprof_agent_running && i < 30000 && !asprof_agent_running(); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < THREADS; i++)
			CHECK(!pthread_create(&threads[i], NULL, in_thread, &threads[i]));
		for (size_t i = 0; i < THREADS; i++)
			CHECK(!pthread_join(threads[i], NULL));
	}
	CHECK(atomic_load(&calls) == 2 * THREADS * ROUNDS);
	puts("ok");
	return 0;
}
