/* How async-profiler sleeps between two samples of wall time, and is woken when it is to stop.
 *
 * It sends its thread SIGIO and waits for it to end. But that thread, as all that descend from the
 * agent's, has every signal blocked, so that none of the program's is lost to it: it would sleep
 * on, and the program's exit would wait for up to a wall interval. A futex does without signals. */
#include "asyncprof/sleep_calls.h"

#include <signal.h>
#include <stdbool.h>

#include "core/clock.h"
#include "core/futex.h"
#include "core/old_symbol.h"
#include "core/privileges.h"

OLD_SYMBOL(pthread_kill, "2.2.5")

/* 1 until a sleeper has seen it. One that nobody waits for makes the next sleep end early, which
 * async-profiler takes for an interruption, and goes on. */
static _Atomic uint32_t woken;

/* So many times was signalled what engine_wait() waits for. */
static _Atomic uint32_t signalled;

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

int engine_sleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
	uint64_t end_ns = ns_of(time), due_ns;
	int saved = errno;

	/* Only such an end is what a futex takes. */
	if (clock != CLOCK_MONOTONIC || flags != TIMER_ABSTIME)
		return clock_nanosleep(clock, flags, time, rest);
	/* The thread was made by the agent's, and is to give up what that gives up. */
	do {
		privileges_follow(false);
		due_ns = privileges_due_ns();
		futex_wait_until(&woken, 0, due_ns < end_ns ? due_ns : end_ns);
	} while (!atomic_load(&woken) && clock_monotonic_ns() < end_ns);
	errno = saved;
	return atomic_exchange(&woken, 0) ? EINTR : 0;
}

/* The one condition that it waits for, by the clock that such have if nobody chose one. All that wait
 * are told of every signal, as may be at any time. */
int engine_wait(pthread_cond_t *changed, pthread_mutex_t *lock, const struct timespec *time)
{
	uint32_t before = atomic_load(&signalled);
	uint64_t now_ns = clock_realtime_ns(), end_ns = ns_of(time), due_ns;
	bool told;

	(void)changed;
	end_ns = clock_monotonic_ns() + (end_ns > now_ns ? end_ns - now_ns : 0);
	pthread_mutex_unlock(lock);
	do {
		privileges_follow(false);
		due_ns = privileges_due_ns();
		futex_wait_until(&signalled, before, due_ns < end_ns ? due_ns : end_ns);
		told = atomic_load(&signalled) != before;
	} while (!told && clock_monotonic_ns() < end_ns);
	pthread_mutex_lock(lock);
	return told ? 0 : ETIMEDOUT;
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
