/* Replacements for the calls by which async-profiler's thread sleeps between wall samples and is woken when it
 * stops.
 *
 * To stop, async-profiler sends this thread SIGIO and waits for its end. But the thread, like all descendants of the
 * agent's threads, blocks every signal, so that it takes none of the program's. It would continue to sleep, and the
 * program's exit would wait for up to a wall interval. A futex needs no signal. */
#include "asyncprof/sleep_calls.h"

#include <signal.h>
#include <stdbool.h>

#include "core/clock.h"
#include "core/futex.h"
#include "core/old_symbol.h"
#include "core/privileges.h"

OLD_SYMBOL(pthread_kill, "2.2.5")

/* 1 until a sleeping thread has seen it. Without one the next sleep ends early; async-profiler treats that as an
 * interruption and continues. */
static _Atomic uint32_t woken;

/* Number of calls of engine_signal(). */
static _Atomic uint32_t signalled;

int engine_sleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
	uint64_t end_ns = clock_time_ns(time), due_ns;
	int saved = errno;

	/* A futex supports only this kind of timeout. */
	if (clock != CLOCK_MONOTONIC || flags != TIMER_ABSTIME)
		return clock_nanosleep(clock, flags, time, rest);
	/* The thread is a descendant of an agent's thread, and must drop the same privileges. */
	do {
		privileges_follow(false);
		due_ns = privileges_due_ns();
		futex_wait_until(&woken, 0, due_ns < end_ns ? due_ns : end_ns);
	} while (!atomic_load(&woken) && clock_monotonic_ns() < end_ns);
	errno = saved;
	return atomic_exchange(&woken, 0) ? EINTR : 0;
}

/* There is one condition, with the default clock. Every signal wakes all waiting threads, which POSIX permits. */
int engine_wait(pthread_cond_t *changed, pthread_mutex_t *lock, const struct timespec *time)
{
	uint32_t before = atomic_load(&signalled);
	uint64_t now_ns = clock_realtime_ns(), end_ns = clock_time_ns(time), due_ns;
	bool was_signalled;

	(void)changed;
	end_ns = clock_monotonic_ns() + (end_ns > now_ns ? end_ns - now_ns : 0);
	pthread_mutex_unlock(lock);
	do {
		privileges_follow(false);
		due_ns = privileges_due_ns();
		futex_wait_until(&signalled, before, due_ns < end_ns ? due_ns : end_ns);
		was_signalled = atomic_load(&signalled) != before;
	} while (!was_signalled && clock_monotonic_ns() < end_ns);
	pthread_mutex_lock(lock);
	return was_signalled ? 0 : ETIMEDOUT;
}

void sleep_calls_check_privileges(void)
{
	futex_wake(&woken);
	futex_wake(&signalled);
}

int engine_signal(pthread_cond_t *changed)
{
	(void)changed;
	atomic_fetch_add(&signalled, 1);
	futex_wake(&signalled);
	return 0;
}

int engine_wake(pthread_t thread, int signo)
{
	if (signo != SIGIO)
		return pthread_kill(thread, signo);
	atomic_store(&woken, 1);
	futex_wake(&woken);
	return 0;
}
