/* When it is profiled, it runs ten threads, one after the other, each with its own name and 100 ms
 * of CPU time. The agent reports when they have ended. */
#include <pthread.h>
#include <stdio.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

#define THREADS 10

static void *compute(void *name)
{
	CHECK(!pthread_setname_np(pthread_self(), name));
	for (double end = thread_cpu_ms() + 100; thread_cpu_ms() < end;)
		;
	return NULL;
}

int main(void)
{
	char name[16];
	pthread_t thread;

	need_agent();
	for (int i = 0; i < THREADS; i++) {
		snprintf(name, sizeof(name), "named-%d", i);
		CHECK(!pthread_create(&thread, NULL, compute, name));
		CHECK(!pthread_join(thread, NULL));
	}
	return 0;
}
