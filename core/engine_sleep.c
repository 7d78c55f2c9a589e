/* How async-profiler sleeps between two samples of wall time, and is woken when it is to stop.
 *
 * It sends its thread SIGIO and waits for it to end. But that thread, as all that descend from the
 * agent's, has every signal blocked, so that none of the program's is lost to it: it would sleep
 * on, and the program's exit would wait for up to a wall interval. A futex does without signals. */
#include "core/engine_sleep.h"

#include <signal.h>

#include "core/clock.h"
#include "core/futex.h"
#include "core/privileges.h"

/* 1 until a sleeper has seen it. One that nobody waits for makes the next sleep end early, which
 * async-profiler takes for an interruption, and goes on. */
static _Atomic uint32_t woken;

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

int engine_sleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
	uint64_t end_ns = ns_of(time), due_ns;
	int saved = errno, err;

	/* Only such an end is what a futex takes. */
	if (clock != CLOCK_MONOTONIC || flags != TIMER_ABSTIME)
		return clock_nanosleep(clock, flags, time, rest);
	/* The thread was made by the agent's, and is to give up what that gives up. */
	do {
		privileges_follow(false);
		due_ns = privileges_due_ns();
		err = futex_wait_until(&woken, 0, due_ns < end_ns ? due_ns : end_ns);
	} while (err == -ETIMEDOUT && due_ns < end_ns);
	errno = saved;
	if (err == -ETIMEDOUT)
		return 0;
	atomic_store(&woken, 0);
	return EINTR;
}

/* By the clock that a condition variable has if nobody chose one. */
int engine_wait(pthread_cond_t *changed, pthread_mutex_t *lock, const struct timespec *time)
{
	uint64_t end_ns = ns_of(time), until_ns;
	struct timespec until;
	int err;

	do {
		privileges_follow(false);
		until_ns = end_ns;
		if (privileges_due_ns() != UINT64_MAX)
			until_ns = clock_realtime_ns() + PRIVILEGES_LOOK_NS;
		if (until_ns > end_ns)
			until_ns = end_ns;
		until = (struct timespec){ .tv_sec = (time_t)(until_ns / 1000000000u),
					   .tv_nsec = (long)(until_ns % 1000000000u) };
		err = pthread_cond_timedwait(changed, lock, &until);
	} while (err == ETIMEDOUT && until_ns < end_ns);
	return err;
}

int engine_wake(pthread_t thread, int signo)
{
	if (signo != SIGIO)
		return pthread_kill(thread, signo);
	atomic_store(&woken, 1);
	futex_wake(&woken);
	return 0;
}
