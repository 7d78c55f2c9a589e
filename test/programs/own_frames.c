/* Uses the functions that a preload interposes: waits, a handler, allocations, threads, a child. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

static volatile unsigned long done;

static void burn(long ms)
{
	struct timespec t;
	long until;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	until = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
	do {
		for (int i = 0; i < 10000; i++)
			done++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < until);
}

__attribute__((noinline)) static void nap(void)
{
	usleep(700000);
	done++;
}

__attribute__((noinline)) static void wait_for_nothing(void)
{
	poll(NULL, 0, 700);
	done++;
}

static void handle(int signo)
{
	burn(60);
	done += (unsigned long)signo;
}

__attribute__((noinline)) static void allocate(void)
{
	for (int i = 0; i < 400000; i++)
		free(malloc((size_t)i % 500 + 1));
}

static void *work(void *arg)
{
	nap();
	burn(60);
	return arg;
}

int main(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	wait_for_agent(3000); /* the next call must be in the profile */
	CHECK(!pthread_create(&thread, NULL, work, NULL));
	CHECK(signal(SIGUSR1, handle) != SIG_ERR);
	nap();
	wait_for_nothing();
	CHECK(!raise(SIGUSR1));
	allocate();
	CHECK(!pthread_join(thread, NULL));
	pid = fork();
	if (!pid) {
		wait_for_agent(30000);
		burn(60);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	return 0;
}
