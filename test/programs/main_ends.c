/* Ends its main thread, and computes in work() in another one, until it is killed; prints "ready" before. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static void *work(void *unused)
{
	for (volatile unsigned sum = 0;; sum++)
		if (!(sum % 100000))
			usleep(1000);
	return unused;
}

int main(void)
{
	pthread_t thread;

	/* After the start of the sampling. */
	usleep(300000);
	pthread_create(&thread, NULL, work, NULL);
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}
