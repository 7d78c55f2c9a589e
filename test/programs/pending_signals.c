/* Has many threads, and then needs its own timers and queued signals, as many as it can have
 * without an agent in a third of its user's limit. Prints "ok". */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define THREADS   80
#define WANTED    15
#define WORK_MS   500
#define GIVE_UP_S 20

static volatile bool over;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void *work(void *unused)
{
	while (!over)
		;
	return unused;
}

static int64_t cpu_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* Until samples have been taken for a while, if at all, of the threads with a timer. On a busy
 * machine they may get little CPU time. */
static void let_work(void)
{
	time_t until = time(NULL) + GIVE_UP_S;
	int64_t enough;

	while (asprof_agent_running && !asprof_agent_running() && time(NULL) < until)
		pause_ms(1);
	enough = cpu_ms() + WORK_MS;
	pause_ms(WORK_MS);
	while (cpu_ms() < enough && time(NULL) < until)
		pause_ms(1);
}

int main(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	pthread_t threads[THREADS];
	sigset_t set;
	timer_t timer;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	CHECK(!sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, NULL));
	let_work();
	for (int i = 0; i < WANTED; i++) {
		CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
		CHECK(!sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i }));
	}
	over = true;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	puts("ok");
	return 0;
}
