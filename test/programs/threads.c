/* Threads that end in every possible way; each result is checked. Prints "ok". */
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <unistd.h>

#include "test/programs/check.h"

static sem_t waiting;

static void *returns(void *arg)
{
	return arg;
}

static void *exits(void *arg)
{
	pthread_exit(arg);
}

static void *waits(void *arg)
{
	sem_post(&waiting);
	for (;;)
		pause();
	return arg;
}

static int c11(void *arg)
{
	return *(int *)arg;
}

static void join(pthread_t thread, void *expected)
{
	void *result;

	CHECK(!pthread_join(thread, &result));
	CHECK(result == expected);
}

int main(void)
{
	pthread_t thread;
	pthread_attr_t attr;
	thrd_t thrd;
	int value = 42, result, word;

	CHECK(!sem_init(&waiting, 0, 0));
	for (int i = 0; i < 50; i++) {
		CHECK(!pthread_create(&thread, NULL, returns, &word));
		join(thread, &word);
		CHECK(!pthread_create(&thread, NULL, exits, &word));
		join(thread, &word);
	}
	CHECK(!pthread_create(&thread, NULL, waits, NULL));
	CHECK(!sem_wait(&waiting));
	CHECK(!pthread_cancel(thread));
	join(thread, PTHREAD_CANCELED);

	/* Cancelled before its first instruction, most of the time. */
	CHECK(!pthread_create(&thread, NULL, waits, NULL));
	CHECK(!pthread_cancel(thread));
	join(thread, PTHREAD_CANCELED);

	CHECK(thrd_create(&thrd, c11, &value) == thrd_success);
	CHECK(thrd_join(thrd, &result) == thrd_success && result == 42);

	/* A stack of the program's own. */
	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstack(&attr, aligned_alloc(4096, 65536), 65536));
	CHECK(!pthread_create(&thread, &attr, returns, &word));
	join(thread, &word);

	/* One that cannot be created. */
	CHECK(!pthread_attr_destroy(&attr) && !pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstacksize(&attr, (size_t)1 << 46));
	CHECK(pthread_create(&thread, &attr, returns, NULL));

	puts("ok");
	return 0;
}
