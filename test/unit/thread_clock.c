/* engine/sample/thread_clock: a thread's timers exist only during sampling. */
#include "engine/sample/thread_clock.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core/signal_share.h"
#include "core/system.h"
#include "core/timer/dropped_signals.h"
#include "test/fixtures/suite.h"

#define INTERVAL 10000000u

static struct thread_clock started(bool born)
{
	struct thread_timers timers = { .signo = SIGRTMIN, .cpu_interval_ns = INTERVAL };
	struct thread_clock thread = { 0 };

	signal(SIGRTMIN, SIG_IGN);
	thread_clock_open(&timers);
	thread_clock_init(&thread, gettid(), 0x1000);
	thread_clock_start(&thread, born);
	return thread;
}

static bool has_timer(const struct thread_clock *clock)
{
	return thread_timer_exists(&clock->cpu.cpu) || thread_timer_exists(&clock->cpu.fine);
}

START_TEST(asks_for_nothing_where_off)
{
	struct thread_timers timers = { .signo = SIGRTMIN, .cpu_interval_ns = UINT64_MAX };
	struct thread_clock thread = { 0 };

	thread_clock_open(&timers);
	thread_clock_init(&thread, gettid(), 0x1000);
	thread_clock_start(&thread, true);
	ck_assert(!has_timer(&thread));
	ck_assert_uint_eq(cpu_timer_advance(&thread.cpu, UINT64_MAX / 2), 0);
	ck_assert_uint_eq(signal_share_refused(), 0);
}
END_TEST

/* From then on the program owns the signal. */
START_TEST(forbidden)
{
	struct thread_clock thread = started(false);

	ck_assert(thread_clock_interrupt(&thread));
	thread_clock_forbid();
	ck_assert(!thread_clock_interrupt(&thread));
	thread_clock_stop(&thread);
	ck_assert(!has_timer(&thread) && !thread_timer_exists(&thread.wall));
}
END_TEST

/* After the end of sampling, no timer is created any more, and it is known that none exists. */
START_TEST(closed)
{
	struct thread_clock thread = started(false);

	ck_assert(!signal_share_close());
	ck_assert(!thread_clock_interrupt(&thread));
	thread_clock_start(&thread, false); /* the thread has a clock */
	thread_clock_stop(&thread);
	ck_assert(signal_share_close());
	thread_clock_start(&thread, true);
	ck_assert(!has_timer(&thread) && !thread.refused);
	ck_assert(signal_share_close());
	signal_share_open();
	thread_clock_start(&thread, false);
	ck_assert(has_timer(&thread));
	ck_assert_uint_eq(signal_share_refused(), 0);
	thread_clock_stop(&thread);
}
END_TEST

/* Set *SET to the clock's signal, which stays pending. */
static struct thread_clock started_blocked(sigset_t *set)
{
	struct thread_clock thread;

	sigemptyset(set);
	sigaddset(set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, set, NULL);
	thread = started(false);
	signal(SIGRTMIN, SIG_DFL);
	return thread;
}

static void await_pending(void)
{
	sigset_t pending;

	do
		sigpending(&pending);
	while (!sigismember(&pending, SIGRTMIN));
}

/* Return the next signal of KIND; signals of the CPU timer may precede it. */
static bool signal_arrives(const sigset_t *set, enum clock_kind kind)
{
	static const struct timespec limit = { .tv_sec = 10 };
	siginfo_t info;

	while (sigtimedwait(set, &info, &limit) > 0)
		if ((uintptr_t)info.si_value.sival_ptr == (0x1000 | kind))
			return true;
	return false;
}

/* The kernel would drop the pending signals of deleted timers, after they have ended a call of the thread. */
START_TEST(a_pause_keeps_pending_signals)
{
	struct thread_clock thread;
	sigset_t set;

	thread = started_blocked(&set);
	ck_assert(thread_clock_interrupt(&thread));
	await_pending();
	thread_clock_pause(&thread);
	ck_assert(!thread_timer_exists(&thread.cpu.cpu));
	ck_assert(thread_clock_is_under_way(&thread));
	ck_assert(signal_arrives(&set, CLOCK_OF_WALL));
	ck_assert_int_eq(thread_timer_set(&thread.cpu.fine, CLOCK_MONOTONIC, &thread.cpu.signal, 0,
					  1, 0, false),
			 0);
	await_pending();
	thread_clock_pause(&thread);
	ck_assert(signal_arrives(&set, CLOCK_OF_CPU));
	thread_clock_stop(&thread);
	ck_assert(!has_timer(&thread) && !thread_timer_exists(&thread.wall));
}
END_TEST

/* The pending signal of the CPU timer is dropped with it, so another one comes. */
START_TEST(a_pause_replaces_the_signal_of_the_cpu_timer)
{
	struct thread_clock thread;
	sigset_t set;

	thread = started_blocked(&set);
	await_pending();
	thread_clock_pause(&thread);
	ck_assert(!thread_timer_exists(&thread.cpu.cpu));
	ck_assert(thread_clock_expects_signal(&thread));
	ck_assert(signal_arrives(&set, CLOCK_OF_WALL));
	thread_clock_stop(&thread);
}
END_TEST

/* Targets within a few ticks need the fine timer only. */
START_TEST(a_pending_signal_is_expected)
{
	struct thread_timers timers = { .signo = SIGRTMIN, .cpu_interval_ns = 1000000 };
	struct thread_clock thread = { 0 };
	sigset_t set;

	thread = started_blocked(&set);
	thread_clock_stop(&thread);
	ck_assert(!thread_clock_expects_signal(&thread));
	thread_clock_open(&timers);
	thread_clock_start(&thread, true);
	while (thread_timer_is_armed(&thread.cpu.fine))
		;
	ck_assert(thread_clock_expects_signal(&thread));
	ck_assert(signal_arrives(&set, CLOCK_OF_CPU));
	cpu_timer_signal_arrived(&thread.cpu);
	ck_assert(!thread_clock_expects_signal(&thread));
	thread_clock_stop(&thread);
}
END_TEST

/* Calls of other threads that wait for long meanwhile are not taken for interrupted ones. */
START_TEST(an_end_drops_no_signal)
{
	struct thread_clock thread = started(false);
	uint64_t count = dropped_signals_count();

	ck_assert(thread_clock_interrupt(&thread));
	thread_clock_end(&thread);
	ck_assert(!has_timer(&thread) && !thread_timer_exists(&thread.wall));
	ck_assert(!thread_clock_expects_signal(&thread));
	ck_assert(!dropped_signals_since(count));
	thread = started(false);
	thread_clock_stop(&thread);
	ck_assert(dropped_signals_since(count));
}
END_TEST

START_TEST(no_such_thread)
{
	struct thread_clock thread = { 0 };

	thread_clock_init(&thread, 0x0fffffff, 0x1000);
	ck_assert_uint_eq(thread_clock_cpu(&thread), 0);
	/* A timer was found and is deleted: the thread has none afterwards. */
	thread_clock_start(&thread, false);
	ck_assert(!has_timer(&thread) && !thread.refused);
	ck_assert_uint_eq(signal_share_refused(), 0);
	ck_assert(signal_share_close());
}
END_TEST

static void *start_own_clock(void *argument)
{
	struct thread_clock *clock = argument;

	thread_clock_init(clock, gettid(), 0x1000);
	thread_clock_start(clock, false);
	return NULL;
}

/* Its timer exists, but the kernel cannot set it again. */
START_TEST(a_thread_has_ended)
{
	struct thread_clock clock = started(false), other = { 0 };
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, start_own_clock, &other), 0);
	pthread_join(thread, NULL);
	while (!system_thread_is_gone(other.cpu.signal.tid))
		usleep(1000);
	ck_assert(thread_timer_exists(&other.cpu.cpu));
	thread_clock_start(&other, false);
	ck_assert(!other.refused);
	ck_assert_uint_eq(signal_share_refused(), 0);
	thread_clock_stop(&other);
	thread_clock_stop(&clock);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, asks_for_nothing_where_off);
	tcase_add_test(tests, a_pause_replaces_the_signal_of_the_cpu_timer);
	tcase_add_test(tests, forbidden);
	tcase_add_test(tests, closed);
	tcase_add_test(tests, a_pause_keeps_pending_signals);
	tcase_add_test(tests, a_pending_signal_is_expected);
	tcase_add_test(tests, an_end_drops_no_signal);
	tcase_add_test(tests, no_such_thread);
	tcase_add_test(tests, a_thread_has_ended);
	return suite_run(tests);
}
