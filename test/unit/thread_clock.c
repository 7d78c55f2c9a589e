/* engine/sample/thread_clock: a thread owes one sample for each interval of its CPU time, whatever the
 * moments at which one can be taken, and short threads owe as much together as a long one. */
#include "engine/sample/thread_clock.h"

#include <signal.h>
#include <unistd.h>

#include "core/signal_share.h"
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

START_TEST(owes_one_an_interval)
{
	struct thread_clock thread = started(false);
	uint64_t first = thread.first_ns;

	ck_assert_uint_lt(first, UINT64_MAX);
	ck_assert_uint_eq(thread_clock_take(&thread, first - 1), 0);
	ck_assert_uint_eq(thread_clock_take(&thread, first), 1);
	ck_assert_uint_eq(thread_clock_take(&thread, first + INTERVAL - 1), 0);
	ck_assert_uint_eq(thread_clock_take(&thread, first + INTERVAL), 1);
	/* Late, and not twice. */
	ck_assert_uint_eq(thread_clock_take(&thread, first + 5 * INTERVAL + 7), 4);
	ck_assert_uint_eq(thread_clock_take(&thread, first + 5 * INTERVAL + 7), 0);
	thread_clock_stop(&thread);
	ck_assert_uint_eq(thread_clock_take(&thread, UINT64_MAX - 1), 0);
}
END_TEST

START_TEST(counts_from_when_it_is_seen)
{
	struct thread_clock thread = started(false);
	uint64_t now = thread_clock_cpu(&thread);

	ck_assert_uint_gt(now, 0);
	ck_assert_uint_le(thread.first_ns, now + INTERVAL);
	thread_clock_stop(&thread);
}
END_TEST

/* Threads of a fiftieth of an interval: one in fifty owes a sample, whichever they are. */
START_TEST(short_threads_are_spread)
{
	struct thread_clock thread = started(true);
	unsigned owed = 0;

	for (int i = 0; i < 5000; i++) {
		thread_clock_start(&thread, true);
		ck_assert_uint_ge(thread.first_ns, 1);
		ck_assert_uint_le(thread.first_ns, INTERVAL);
		owed += thread_clock_take(&thread, INTERVAL / 50);
	}
	thread_clock_stop(&thread);
	ck_assert_uint_ge(owed, 98);
	ck_assert_uint_le(owed, 102);
}
END_TEST

START_TEST(asks_for_nothing_where_off)
{
	struct thread_timers timers = { .signo = SIGRTMIN, .cpu_interval_ns = UINT64_MAX };
	struct thread_clock thread = { 0 };

	thread_clock_open(&timers);
	thread_clock_init(&thread, gettid(), 0x1000);
	thread_clock_start(&thread, true);
	ck_assert(!thread.has[TIMER_CPU]);
	ck_assert_uint_eq(thread_clock_take(&thread, UINT64_MAX - 1), 0);
	ck_assert_uint_eq(signal_share_refused(), 0);
}
END_TEST

/* The signal is the program's from then on. */
START_TEST(forbidden)
{
	struct thread_clock thread = started(false);

	ck_assert(thread_clock_interrupt(&thread, 1));
	thread_clock_forbid();
	ck_assert(!thread_clock_interrupt(&thread, 1));
	thread_clock_stop(&thread);
	ck_assert(!thread.has[TIMER_CPU] && !thread.has[TIMER_WALL]);
}
END_TEST

/* Behind the end of the sampling: nobody makes a timer any more, and that there is none is known. */
START_TEST(closed)
{
	struct thread_clock thread = started(false);

	ck_assert(!signal_share_close());
	ck_assert(!thread_clock_interrupt(&thread, 1));
	thread_clock_start(&thread, false); /* it has one */
	thread_clock_stop(&thread);
	ck_assert(signal_share_close());
	thread_clock_start(&thread, true);
	ck_assert(!thread.has[TIMER_CPU] && !thread.refused);
	ck_assert(signal_share_close());
	signal_share_open();
	thread_clock_start(&thread, false);
	ck_assert(thread.has[TIMER_CPU]);
	ck_assert_uint_eq(signal_share_refused(), 0);
	thread_clock_stop(&thread);
}
END_TEST

START_TEST(no_such_thread)
{
	struct thread_clock thread = { 0 };

	thread_clock_init(&thread, 0x0fffffff, 0x1000);
	ck_assert_uint_eq(thread_clock_cpu(&thread), 0);
	/* It was found, and is gone: it goes without nothing. */
	thread_clock_start(&thread, false);
	ck_assert(!thread.has[TIMER_CPU] && !thread.refused);
	ck_assert_uint_eq(signal_share_refused(), 0);
	ck_assert(signal_share_close());
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, owes_one_an_interval);
	tcase_add_test(tests, counts_from_when_it_is_seen);
	tcase_add_test(tests, short_threads_are_spread);
	tcase_add_test(tests, asks_for_nothing_where_off);
	tcase_add_test(tests, forbidden);
	tcase_add_test(tests, closed);
	tcase_add_test(tests, no_such_thread);
	return suite_run(tests);
}
