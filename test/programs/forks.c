/* Forks N children, one after another, that end by exit(3), while two threads are busy. Prints "ok"
 * if each ended within ten seconds. Usage: forks N */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *work(void *unused)
{
	volatile unsigned long sum = 0;

	(void)unused;
	for (;;)
		sum += 1;
	return NULL;
}

static int gone(pid_t pid)
{
	struct timespec step = { .tv_nsec = 1000000 };
	int status;

	for (int i = 0; i < 10000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status == 7 << 8;
		nanosleep(&step, NULL);
	}
	kill(pid, SIGKILL);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, work, NULL);
	for (int i = argc > 1 ? atoi(argv[1]) : 100; i > 0; i--) {
		pid_t pid = fork();

		if (!pid)
			exit(7);
		if (!gone(pid)) {
			printf("child %d did not end as it should\n", pid);
			return 1;
		}
	}
	puts("ok");
	return 0;
}
