/* Ends at once, in the given way, while the agent may be loading its engine: by return from main or
 * exit(3), with 3; or by pthread_exit(3) in the main thread, after which another thread runs for
 * the given milliseconds and ends the process with 3. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *linger(void *ms)
{
	const char *digits = ms;
	long ns = strtol(digits, NULL, 10) * 1000000;
	struct timespec time = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	nanosleep(&time, NULL);
	exit(3);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 2 && !strcmp(argv[1], "pthread_exit")) {
		if (pthread_create(&thread, NULL, linger, argv[2]))
			return 1;
		pthread_exit(NULL);
	}
	if (argc > 1 && !strcmp(argv[1], "exit"))
		exit(3);
	return 3;
}
