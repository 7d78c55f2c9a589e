/* Interposes the calls that wait for time to pass, or for a signal: a sample ends neither. */
#include <errno.h>

#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"
#include "preload/interpose/wait.h"

EXPORT int nanosleep(const struct timespec *time, struct timespec *rest)
{
	uint64_t end = wait_end(time);
	struct timespec left;

	return CALL_AGAIN(REAL(nanosleep)(time, rest), time = wait_left(end, time, &left));
}

/* As the C library makes them of nanosleep. */
EXPORT int usleep(useconds_t us)
{
	struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };

	return nanosleep(&time, NULL);
}

EXPORT unsigned int sleep(unsigned int seconds)
{
	struct timespec time = { .tv_sec = seconds }, rest;

	return nanosleep(&time, &rest) ? (unsigned int)rest.tv_sec : 0;
}

/* Nanoseconds by CLOCK, or by the one that its relative sleeps are measured with. */
static int64_t clock_now(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_gettime(clock == CLOCK_REALTIME ? CLOCK_MONOTONIC : clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* What is left in *LEFT, and never less than nothing, NS later. */
static void sleep_less(struct timespec *left, int64_t ns)
{
	int64_t rest = left->tv_nsec - ns % 1000000000;

	left->tv_sec -= ns / 1000000000;
	left->tv_sec -= rest < 0;
	left->tv_nsec = rest < 0 ? rest + 1000000000 : rest;
	if (left->tv_sec < 0)
		*left = (struct timespec){ 0 };
}

/* Reports its error as its value, and leaves errno alone. */
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *rest)
{
	int64_t before = flags & TIMER_ABSTIME ? 0 : clock_now(clock), now;
	struct timespec left = time ? *time : (struct timespec){ 0 }; /* REST may be TIME */
	int saved = errno, err;

	for (;;) {
		sample_interrupted = 0;
		err = REAL(clock_nanosleep)(clock, flags, time, rest);
		errno = err;
		if (!err || !sample_interrupted_alone(SAMPLE_FRAME))
			break;
		if (flags & TIMER_ABSTIME)
			continue;
		now = clock_now(clock);
		sleep_less(&left, now - before);
		before = now;
		time = &left;
	}
	errno = saved;
	return err;
}

/* As the C library makes it. */
EXPORT int thrd_sleep(const struct timespec *time, struct timespec *rest)
{
	int err = clock_nanosleep(CLOCK_REALTIME, 0, time, rest);

	if (!err)
		return 0;
	return err == EINTR ? -1 : -2;
}

EXPORT int aio_suspend(const struct aiocb *const list[], int count, const struct timespec *timeout)
{
	uint64_t end = wait_end(timeout);
	struct timespec left;

	return CALL_AGAIN(REAL(aio_suspend)(list, count, timeout),
			  timeout = wait_left(end, timeout, &left));
}

EXPORT int aio_suspend64(const struct aiocb64 *const list[], int count,
			 const struct timespec *timeout)
{
	return aio_suspend((const struct aiocb *const *)list, count, timeout);
}

EXPORT int pause(void)
{
	return CALL_AGAIN(REAL(pause)(), );
}

EXPORT int sem_timedwait(sem_t *sem, const struct timespec *end)
{
	return CALL_AGAIN(REAL(sem_timedwait)(sem, end), );
}

EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *end)
{
	return CALL_AGAIN(REAL(sem_clockwait)(sem, clock, end), );
}
