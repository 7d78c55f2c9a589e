/* core/cpu_timer: a thread owes one sample for each interval of its CPU time, at a random moment of
 * it, and a wait is interrupted at most once for a sample. */
#include "core/timer/cpu_timer.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/signal_share.h"
#include "test/fixtures/suite.h"

#define INTERVAL UINT64_C(10000000)
#define MS       UINT64_C(1000000)

static struct cpu_timer timer;

static uint64_t base_ns(void)
{
	return timer.base_ns_plus_one - 1;
}
static volatile sig_atomic_t signals, samples, is_waiting;

static void prepare(void)
{
	struct timer_signal signal_of = { .tid = gettid(), .signo = SIGRTMIN, .value = 1 };

	signals = samples = is_waiting = 0;
	cpu_timer_seed();
	cpu_timer_init(&timer, &signal_of);
}

static void on_signal(int signo)
{
	uint64_t cpu_ns = clock_cpu_ns();
	uint32_t due = cpu_timer_advance(&timer, cpu_ns);

	(void)signo;
	signals++;
	samples += (int)due;
	cpu_timer_continue(&timer, cpu_ns, !due && is_waiting);
}

/* An interval has two thousand possible moments: one of them is the target, and they are spread. */
START_TEST(one_random_target_in_each_interval)
{
	uint64_t base, sum = 0;
	unsigned in_half[2] = { 0 };

	signal(SIGRTMIN, SIG_IGN);
	prepare();
	ck_assert_int_eq(cpu_timer_start(&timer, INTERVAL, false), 0);
	base = base_ns();
	for (unsigned i = 0; i < 1000; i++) {
		unsigned found = 0;

		for (unsigned j = 1; j <= 2000; j++)
			if (cpu_timer_advance(&timer,
					      base + i * INTERVAL + j * (INTERVAL / 2000))) {
				found++;
				sum += j;
				in_half[j > 1000]++;
			}
		/* It may be taken some microseconds early, which may be in the interval before. */
		ck_assert_uint_le(found, 2);
	}
	ck_assert_uint_ge(timer.taken, 1000);
	ck_assert_uint_le(timer.taken, 1001);
	/* By six standard deviations. */
	ck_assert_uint_ge(sum, 1000 * 1000 - 110000);
	ck_assert_uint_le(sum, 1000 * 1000 + 110000);
	ck_assert_uint_ge(in_half[0], 400);
	ck_assert_uint_ge(in_half[1], 400);
	cpu_timer_stop(&timer);
}
END_TEST

START_TEST(late_samples_are_taken_once)
{
	uint64_t base;

	signal(SIGRTMIN, SIG_IGN);
	prepare();
	ck_assert_int_eq(cpu_timer_start(&timer, INTERVAL, false), 0);
	base = base_ns();
	ck_assert_uint_le(base, clock_cpu_ns());
	ck_assert_uint_eq(cpu_timer_advance(&timer, base + 5 * INTERVAL - MS / 100) / 2,
			  2); /* 4 or 5 */
	ck_assert_uint_eq(cpu_timer_advance(&timer, base + 5 * INTERVAL - MS / 100), 0);
	cpu_timer_stop(&timer);
	ck_assert_uint_eq(cpu_timer_advance(&timer, UINT64_MAX / 2), 0);
	ck_assert(!thread_timer_exists(&timer.cpu) && !thread_timer_exists(&timer.fine));
}
END_TEST

/* Threads of a fiftieth of an interval: one in fifty owes a sample, at random. */
START_TEST(short_threads_are_spread)
{
	unsigned owed = 0;

	signal(SIGRTMIN, SIG_IGN);
	prepare();
	for (int i = 0; i < 5000; i++) {
		ck_assert_int_eq(cpu_timer_start(&timer, INTERVAL, true), 0);
		owed += cpu_timer_advance(&timer, INTERVAL / 50 - 2000);
	}
	cpu_timer_stop(&timer);
	ck_assert_uint_ge(owed, 98);
	ck_assert_uint_le(owed, 102);
}
END_TEST

static uint64_t interval_ns;

static void *burn(void *unused)
{
	uint64_t used;

	prepare();
	ck_assert_int_eq(cpu_timer_start(&timer, interval_ns, true), 0);
	while (clock_cpu_ns() < 200 * MS)
		;
	used = clock_cpu_ns();
	samples += (int)cpu_timer_advance(&timer, used);
	cpu_timer_stop(&timer);
	ck_assert_int_ge(samples, (int)(used / interval_ns) - 1);
	ck_assert_int_le(samples, (int)(used / interval_ns) + 2);
#ifndef __SANITIZE_THREAD__ /* which delays signals, on a busy machine for longer than this loop */
	/* Most of them by their own signal. */
	ck_assert_int_ge(signals, 2);
#endif
	return unused;
}

/* By the CPU timer and the fine one; and by the fine one alone. */
START_TEST(cpu_time_is_sampled)
{
	static const uint64_t intervals[] = { 40 * MS, 10 * MS, MS };
	pthread_t thread;

	signal(SIGRTMIN, on_signal);
	interval_ns = intervals[_i];
	ck_assert_int_eq(pthread_create(&thread, NULL, burn, NULL), 0);
	pthread_join(thread, NULL);
}
END_TEST

static void *wait_often(void *unused)
{
	struct timespec rest;

	prepare();
	ck_assert_int_eq(cpu_timer_start(&timer, MS, true), 0);
	ck_assert(thread_timer_exists(&timer.fine) && !thread_timer_exists(&timer.cpu));
	is_waiting = 1; /* not earlier: signals may have come by now */
	signals = samples = 0;
	for (int i = 0; i < 20; i++) {
		rest = (struct timespec){ .tv_nsec = 5 * MS };
		while (nanosleep(&rest, &rest))
			;
	}
	cpu_timer_stop(&timer);
	ck_assert_int_le(signals, 2 * samples + 1);
	return unused;
}

START_TEST(one_wait_is_interrupted_for_a_sample)
{
	pthread_t thread;

	signal(SIGRTMIN, on_signal);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_often, NULL), 0);
	pthread_join(thread, NULL);
}
END_TEST

static void *end_late(void *unused)
{
	prepare();
	ck_assert_int_eq(cpu_timer_start(&timer, MS, true), 0);
	while (clock_cpu_ns() < 20 * MS)
		;
	samples += (int)cpu_timer_end(&timer);
	ck_assert_int_ge(samples, 19);
	ck_assert_uint_eq(cpu_timer_end(&timer), 0);
	ck_assert(!thread_timer_exists(&timer.cpu) && !thread_timer_exists(&timer.fine));
	return unused;
}

/* The end of a thread takes the remaining samples and deletes the timers. */
START_TEST(end_takes_what_is_due)
{
	pthread_t thread;

	signal(SIGRTMIN, SIG_IGN);
	ck_assert_int_eq(pthread_create(&thread, NULL, end_late, NULL), 0);
	pthread_join(thread, NULL);
}
END_TEST

static useconds_t waits_us;

static void *end_at_once(void *without_fine)
{
	prepare();
	ck_assert_int_eq(cpu_timer_start(&timer, 4 * MS, true), 0);
	*(unsigned *)without_fine += !thread_timer_exists(&timer.fine);
	usleep(waits_us);
	cpu_timer_end(&timer);
	cpu_timer_stop(&timer);
	return NULL;
}

/* A timer of the monotonic clock costs more than the rest: most of the threads that end at once get
 * none. */
START_TEST(short_threads_have_the_cheaper_timer)
{
	unsigned without_fine = 0;
	pthread_t thread;

	signal(SIGRTMIN, SIG_IGN);
	for (int i = 0; i < 400; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, end_at_once, &without_fine), 0);
		pthread_join(thread, NULL);
	}
	ck_assert_uint_ge(without_fine, 100);
}
END_TEST

/* The same for threads that wait for longer than an interval and use almost no CPU time. */
START_TEST(waiting_threads_have_the_cheaper_timer)
{
	unsigned without_fine = 0;
	pthread_t thread;

	signal(SIGRTMIN, SIG_IGN);
	waits_us = 6000;
	for (int i = 0; i < 400; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, end_at_once, &without_fine), 0);
		pthread_join(thread, NULL);
	}
	ck_assert_uint_ge(without_fine, 100);
}
END_TEST

/* A thread that has used almost no CPU time, with a long interval, has only the timer that never
 * wakes it. */
START_TEST(second_kernel_timer_is_made_when_it_is_needed)
{
	signal(SIGRTMIN, SIG_IGN);
	prepare();
	ck_assert_int_eq(cpu_timer_start(&timer, UINT64_C(3600000) * MS, false), 0);
	ck_assert(thread_timer_exists(&timer.cpu) && !thread_timer_exists(&timer.fine));
	cpu_timer_stop(&timer);
	ck_assert_int_eq((int)signal_share_reserved(), 0);
}
END_TEST

/* The limit of pending signals is reached: there is no fine timer, and all samples are taken at
 * ticks. */
START_TEST(cpu_timer_does_alone)
{
	uint64_t used;

	signal(SIGRTMIN, on_signal);
	prepare();
	signal_share_set(1, 0);
	ck_assert_int_eq(cpu_timer_start(&timer, INTERVAL, false), 0);
	while (clock_cpu_ns() < base_ns() + 100 * MS)
		;
	used = clock_cpu_ns() - base_ns();
	samples += (int)cpu_timer_advance(&timer, base_ns() + used);
	ck_assert(thread_timer_exists(&timer.cpu) && !thread_timer_exists(&timer.fine));
	cpu_timer_stop(&timer);
	ck_assert_int_ge(samples, (int)(used / INTERVAL));
	ck_assert_int_le(samples, (int)(used / INTERVAL) + 1);
}
END_TEST

/* A signal handler may find such a timer in a forked child. */
START_TEST(wiped_by_fork)
{
	struct cpu_timer wiped = { 0 };

	ck_assert(!cpu_timer_is_due(&wiped, 1000 * MS));
	ck_assert_uint_eq(cpu_timer_advance(&wiped, 1000 * MS), 0);
	cpu_timer_continue(&wiped, 1000 * MS, false);
	ck_assert(!thread_timer_exists(&wiped.cpu) && !thread_timer_exists(&wiped.fine));
	ck_assert_uint_eq(cpu_timer_end(&wiped), 0);
}
END_TEST

START_TEST(no_such_thread)
{
	struct timer_signal nobody = { .tid = 0x0fffffff, .signo = SIGRTMIN, .value = 1 };

	cpu_timer_init(&timer, &nobody);
	ck_assert_int_eq(cpu_timer_start(&timer, INTERVAL, false), -EINVAL);
	ck_assert_uint_eq(cpu_timer_advance(&timer, UINT64_MAX / 2), 0);
	ck_assert_int_eq((int)signal_share_reserved(), 0);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, one_random_target_in_each_interval);
	tcase_add_test(tests, late_samples_are_taken_once);
	tcase_add_test(tests, short_threads_are_spread);
	tcase_add_loop_test(tests, cpu_time_is_sampled, 0, 3);
	tcase_add_test(tests, one_wait_is_interrupted_for_a_sample);
	tcase_add_test(tests, end_takes_what_is_due);
	tcase_add_test(tests, short_threads_have_the_cheaper_timer);
	tcase_add_test(tests, waiting_threads_have_the_cheaper_timer);
	tcase_add_test(tests, second_kernel_timer_is_made_when_it_is_needed);
	tcase_add_test(tests, cpu_timer_does_alone);
	tcase_add_test(tests, no_such_thread);
	tcase_add_test(tests, wiped_by_fork);
	return suite_run(tests);
}
