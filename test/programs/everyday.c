/* A little of what most programs do: two threads that work, memory that stays, a forked child, a
 * wait.
 * Prints "out", and ends with status 5. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

static volatile unsigned long sum;
static char *volatile kept;

/* CPU time, so that it is the same on a busy machine. */
__attribute__((noinline)) static void burn(long ms)
{
	struct timespec t;

	do {
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

__attribute__((noinline)) static void keep(void)
{
	kept = malloc(1 << 20);
	memset(kept, 1, 1 << 20);
}

static void *work(void *arg)
{
	burn(60);
	keep();
	return arg;
}

int main(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	wait_for_agent(3000); /* the next wait must be in the profile */
	CHECK(!pthread_create(&thread, NULL, work, NULL));
	burn(60);
	CHECK(!pthread_join(thread, NULL));
	pid = fork();
	if (!pid)
		_exit(3);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
	CHECK(!poll(NULL, 0, 10));
	return puts("out") < 0 ? 1 : 5;
}
