/* Waits for a time in each way that the C library has, and measures it by the C library's clock. Prints "ok".
 * Usage: timed_waits [NAME...] */
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

#define WAIT_MS 50

static const struct timespec time_of_wait = { .tv_nsec = WAIT_MS * 1000000 };
static sem_t semaphore;
static sigset_t unused;
static int epfd;

static long long now_ns(clockid_t clock)
{
	struct timespec now;

	CHECK(!clock_gettime(clock, &now));
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static struct timespec end_of_wait(clockid_t clock)
{
	long long ns = now_ns(clock) + WAIT_MS * 1000000;

	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

/* Each returns the call's result at the end of its time. */
static int do_nanosleep(void)
{
	return nanosleep(&time_of_wait, NULL);
}

/* A program may keep the time of its next sleep where the rest of an interrupted one would be. */
static int do_nanosleep_in_place(void)
{
	struct timespec time = time_of_wait;
	int result = nanosleep(&time, &time);

	CHECK(time.tv_nsec == time_of_wait.tv_nsec);
	return result;
}

static int do_usleep(void)
{
	return usleep(WAIT_MS * 1000);
}

static int do_sleep(void)
{
	return (int)sleep(1);
}

static int do_clock_nanosleep(void)
{
	struct timespec time = time_of_wait;
	int result = clock_nanosleep(CLOCK_REALTIME, 0, &time, &time);

	CHECK(time.tv_nsec == time_of_wait.tv_nsec);
	return result;
}

static int do_clock_nanosleep_until(void)
{
	struct timespec end = end_of_wait(CLOCK_MONOTONIC);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static int do_clock_nanosleep_until_real(void)
{
	struct timespec end = end_of_wait(CLOCK_REALTIME);

	return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, NULL);
}

static int do_poll(void)
{
	return poll(NULL, 0, WAIT_MS);
}

static int do_ppoll(void)
{
	return ppoll(NULL, 0, &time_of_wait, NULL);
}

static int do_select(void)
{
	struct timeval time = { 0, WAIT_MS * 1000 };

	return select(0, NULL, NULL, NULL, &time);
}

static int do_pselect(void)
{
	return pselect(0, NULL, NULL, NULL, &time_of_wait, NULL);
}

static int do_epoll_wait(void)
{
	struct epoll_event event;

	return epoll_wait(epfd, &event, 1, WAIT_MS);
}

static int do_epoll_pwait(void)
{
	struct epoll_event event;

	return epoll_pwait(epfd, &event, 1, WAIT_MS, NULL);
}

static int do_sigtimedwait(void)
{
	return sigtimedwait(&unused, NULL, &time_of_wait) == -1 && errno == EAGAIN ? 0 : -1;
}

static int do_sem_timedwait(void)
{
	struct timespec end = end_of_wait(CLOCK_REALTIME);

	return sem_timedwait(&semaphore, &end) == -1 && errno == ETIMEDOUT ? 0 : -1;
}

static int do_sem_clockwait(void)
{
	struct timespec end = end_of_wait(CLOCK_MONOTONIC);

	return sem_clockwait(&semaphore, CLOCK_MONOTONIC, &end) == -1 && errno == ETIMEDOUT ? 0
											    : -1;
}

static const struct {
	const char *name;
	int (*wait)(void);
	int ms;
} waits[] = {
	{ "nanosleep", do_nanosleep, WAIT_MS },
	{ "nanosleep in place", do_nanosleep_in_place, WAIT_MS },
	{ "usleep", do_usleep, WAIT_MS },
	{ "sleep", do_sleep, 1000 },
	{ "clock_nanosleep", do_clock_nanosleep, WAIT_MS },
	{ "clock_nanosleep until", do_clock_nanosleep_until, WAIT_MS },
	{ "clock_nanosleep until real", do_clock_nanosleep_until_real, WAIT_MS },
	{ "poll", do_poll, WAIT_MS },
	{ "ppoll", do_ppoll, WAIT_MS },
	{ "select", do_select, WAIT_MS },
	{ "pselect", do_pselect, WAIT_MS },
	{ "epoll_wait", do_epoll_wait, WAIT_MS },
	{ "epoll_pwait", do_epoll_pwait, WAIT_MS },
	{ "sigtimedwait", do_sigtimedwait, WAIT_MS },
	{ "sem_timedwait", do_sem_timedwait, WAIT_MS },
	{ "sem_clockwait", do_sem_clockwait, WAIT_MS },
};

static int is_asked(const char *name, char *const *names)
{
	if (!*names)
		return 1;
	while (*names && strcmp(*names, name))
		names++;
	return *names != NULL;
}

int main(int argc, char **argv)
{
	long long begin, ns;
	int result;

	epfd = epoll_create1(0);
	sigemptyset(&unused);
	sigaddset(&unused, SIGUSR2);
	CHECK(epfd >= 0 && !sem_init(&semaphore, 0, 0) && !sigprocmask(SIG_BLOCK, &unused, NULL));
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		if (argc > 1 && !is_asked(waits[i].name, argv + 1))
			continue;
		begin = now_ns(CLOCK_MONOTONIC);
		result = waits[i].wait();
		ns = now_ns(CLOCK_MONOTONIC) - begin;
		/* (A clock that is made slower is rounded.) */
		if (result || ns < waits[i].ms * 1000000LL - 1000) {
			printf("%s: %d, errno %d, after %lld ns\n", waits[i].name, result, errno,
			       ns);
			return 1;
		}
	}
	puts("ok");
	return 0;
}
