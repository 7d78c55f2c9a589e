/* Interposes the calls that wait for time to pass or for a signal, and those of System V messages and semaphores, which the
 * kernel does not restart even with SA_RESTART: a sample does not end them. */
#include <errno.h>
#include <stdbool.h>

#include "preload/interpose/real.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/wait.h"

/* The program receives the remaining time in REST after its own signal, but not after samples: it may keep its next
 * sleep's time there. So the calls write to a local variable. */
static COLD void rest_write(struct timespec *rest, const struct timespec *own)
{
	if (rest)
		*rest = *own;
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *rest)
{
	int64_t start = wait_start(true);
	struct timespec left, own;
	int result = RESTART(REAL(nanosleep)(time, rest ? &own : NULL),
			     REAL(nanosleep)(wait_left(start, time, &left), rest ? &own : NULL));

	if (__builtin_expect(result == -1, 0) && errno == EINTR)
		rest_write(rest, &own);
	return result;
}

/* The rest of the sleep is by nanosleep(2), by which the C library implements the others. */
EXPORT int usleep(useconds_t us)
{
	const struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };
	int64_t start = wait_start(true);
	struct timespec left;

	return RESTART(REAL(usleep)(us), REAL(nanosleep)(wait_left(start, &time, &left), NULL));
}

static unsigned int sleep_rest(int64_t start, unsigned int seconds)
{
	struct timespec time = { .tv_sec = seconds }, left;

	wait_left(start, &time, &left);
	return REAL(nanosleep)(&left, &left) ? (unsigned int)left.tv_sec : 0;
}

/* It also returns 0 when it was interrupted in its last second. */
EXPORT unsigned int sleep(unsigned int seconds)
{
	int64_t start = wait_start(true);

	return RESTART_WHILE(true, false, REAL(sleep)(seconds), sleep_rest(start, seconds));
}

/* Return the clock by which the kernel measures relative sleeps of CLOCK. */
static clockid_t clock_of_sleep(clockid_t clock)
{
	return clock == CLOCK_REALTIME ? CLOCK_MONOTONIC : clock;
}

static COLD const struct timespec *sleep_left(clockid_t clock, int flags, int64_t start,
					      const struct timespec *time, struct timespec *left)
{
	if (flags & TIMER_ABSTIME)
		return time;
	return wait_left_after(wait_clock_ns(clock_of_sleep(clock)) - start, time, left);
}

/* Returns its error, and preserves errno. */
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *rest)
{
	int64_t start = flags & TIMER_ABSTIME ? 0 : wait_clock_ns(clock_of_sleep(clock));
	struct timespec left, own, *writes = flags & TIMER_ABSTIME || !rest ? rest : &own;
	int err = RESTART_WHILE(
		value_ == EINTR, false, REAL(clock_nanosleep)(clock, flags, time, writes),
		REAL(clock_nanosleep)(clock, flags, sleep_left(clock, flags, start, time, &left),
				      writes));

	if (__builtin_expect(err == EINTR, 0) && writes == &own)
		rest_write(rest, &own);
	return err;
}

EXPORT int thrd_sleep(const struct timespec *time, struct timespec *rest)
{
	int64_t start = wait_start(true);
	struct timespec left, own;
	int result =
		RESTART_WHILE(value_ == -1, false, REAL(thrd_sleep)(time, rest ? &own : NULL),
			      REAL(thrd_sleep)(wait_left(start, time, &left), rest ? &own : NULL));

	if (__builtin_expect(result == -1, 0))
		rest_write(rest, &own);
	return result;
}

#define AIO_SUSPEND(name, type)                                                            \
	EXPORT int name(const struct type *const list[], int count,                        \
			const struct timespec *timeout)                                    \
	{                                                                                  \
		int64_t start = wait_start(timeout);                                       \
		struct timespec left;                                                      \
		return RESTART(REAL(name)(list, count, timeout),                           \
			       REAL(name)(list, count, wait_left(start, timeout, &left))); \
	}

AIO_SUSPEND(aio_suspend, aiocb)
AIO_SUSPEND(aio_suspend64, aiocb64)

EXPORT int pause(void)
{
	return RESTART_SAME(REAL(pause)());
}

EXPORT int sem_timedwait(sem_t *sem, const struct timespec *end)
{
	return RESTART_SAME(REAL(sem_timedwait)(sem, end));
}

EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *end)
{
	return RESTART_SAME(REAL(sem_clockwait)(sem, clock, end));
}

EXPORT ssize_t msgrcv(int id, void *message, size_t size, long type, int flags)
{
	return RESTART_SAME(REAL(msgrcv)(id, message, size, type, flags));
}

EXPORT int msgsnd(int id, const void *message, size_t size, int flags)
{
	return RESTART_SAME(REAL(msgsnd)(id, message, size, flags));
}

EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
	return RESTART_SAME(REAL(semop)(id, operations, count));
}

EXPORT int semtimedop(int id, struct sembuf *operations, size_t count,
		      const struct timespec *timeout)
{
	int64_t start = wait_start(timeout);
	struct timespec left;

	return RESTART(REAL(semtimedop)(id, operations, count, timeout),
		       REAL(semtimedop)(id, operations, count, wait_left(start, timeout, &left)));
}
