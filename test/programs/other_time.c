/* Another preload: it returns a wrong time to callers of the C library's clocks, and its waits and
 * timers by the clock fail. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define OFF_S (10 * 86400)

int clock_gettime(clockid_t clock, struct timespec *out)
{
	long err = syscall(SYS_clock_gettime, clock, out);

	if (!err)
		out->tv_sec += OFF_S;
	return (int)err;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *out, void *zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return 0;
}

int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	(void)clock;
	(void)event;
	(void)timer;
	errno = EAGAIN;
	return -1;
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void)time;
	(void)rest;
	return 0;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *end)
{
	(void)cond;
	(void)lock;
	(void)end;
	return ETIMEDOUT;
}
