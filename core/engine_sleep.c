/* How async-profiler sleeps between two samples of wall time, and is woken when it is to stop.
 *
 * It sends its thread SIGIO and waits for it to end. But that thread, as all that descend from the
 * agent's, has every signal blocked, so that none of the program's is lost to it: it would sleep
 * on, and the program's exit would wait for up to a wall interval. A futex does without signals. */
#include "core/engine_sleep.h"

#include <signal.h>

#include "core/futex.h"

/* 1 until a sleeper has seen it. One that nobody waits for makes the next sleep end early, which
 * async-profiler takes for an interruption, and goes on. */
static _Atomic uint32_t woken;

int engine_sleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
	int saved = errno, err;

	/* Only such an end is what a futex takes. */
	if (clock != CLOCK_MONOTONIC || flags != TIMER_ABSTIME)
		return clock_nanosleep(clock, flags, time, rest);
	err = futex_wait(&woken, 0, time);
	errno = saved;
	if (err == -ETIMEDOUT)
		return 0;
	atomic_store(&woken, 0);
	return EINTR;
}

int engine_wake(pthread_t thread, int signo)
{
	if (signo != SIGIO)
		return pthread_kill(thread, signo);
	atomic_store(&woken, 1);
	futex_wake(&woken);
	return 0;
}
