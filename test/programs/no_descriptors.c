/* Does things that engines take part in, for SECONDS, and makes no descriptor: threads that start,
 * work and end, memory, a loaded library, and changes of the environment and of signal handlers.
 *
 * usage: no_descriptors SECONDS */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *work(void *argument)
{
	double end = now() + 0.02;
	volatile size_t sum = 0;

	while (now() < end) {
		void *p = malloc(5000);

		for (int i = 0; i < 1000; i++)
			sum += (size_t)i;
		free(p);
	}
	return argument;
}

int main(int argc, char **argv)
{
	double end;
	pthread_t thread;

	if (getsid(0) < 0)
		return 1;
	end = now() + (argc > 1 ? atof(argv[1]) : 1);
	for (int turn = 0; now() < end; turn++) {
		if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
			return 1;
		if (turn == 10 && !dlopen("libBrokenLocale.so.1", RTLD_NOW))
			return 1;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return 0;
}
