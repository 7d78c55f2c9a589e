/* engine/sample/thread_clock: a thread's timers exist only during sampling. */
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

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, asks_for_nothing_where_off);
	tcase_add_test(tests, forbidden);
	tcase_add_test(tests, closed);
	tcase_add_test(tests, no_such_thread);
	return suite_run(tests);
}
