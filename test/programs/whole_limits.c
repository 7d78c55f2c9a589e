/* Waits ten times for 0.3 s by each of two functions that do not return when a signal interrupts them. Prints the milliseconds
 * that both used. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "test/programs/check.h"

#define WAIT_NS 300000000
#define WAITS   10

static double now_ms(void)
{
	struct timespec now;

	CHECK(!clock_gettime(CLOCK_MONOTONIC, &now));
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void wait_for_signal(void)
{
	const struct timespec limit = { .tv_nsec = WAIT_NS };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(sigtimedwait(&set, NULL, &limit) == -1 && errno == EAGAIN);
	errno = 0;
}

static void wait_for_condition(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec end;

	CHECK(!clock_gettime(CLOCK_REALTIME, &end));
	end.tv_nsec += WAIT_NS;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	CHECK(!pthread_mutex_lock(&mutex));
	while (!pthread_cond_timedwait(&condition, &mutex, &end))
		;
	CHECK(!pthread_mutex_unlock(&mutex));
}

int main(void)
{
	void (*const functions[])(void) = { wait_for_signal, wait_for_condition };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(!sigprocmask(SIG_BLOCK, &set, NULL));
	for (int f = 0; f < 2; f++) {
		double before = now_ms();

		for (int i = 0; i < WAITS; i++)
			functions[f]();
		printf("%.0f%c", now_ms() - before, f ? '\n' : ' ');
	}
	return 0;
}
