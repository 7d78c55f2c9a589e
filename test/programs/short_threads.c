/* Makes 500 threads that do nothing, one at a time, when it is profiled. */
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define THREADS 500

static void *end_at_once(void *unused)
{
	return unused;
}

int main(void)
{
	pthread_t thread;

	while (asprof_agent_running && !asprof_agent_running())
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (int i = 0; i < THREADS; i++) {
		CHECK(!pthread_create(&thread, NULL, end_at_once, NULL));
		CHECK(!pthread_join(thread, NULL));
	}
	return 0;
}
