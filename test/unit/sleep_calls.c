/* asyncprof/sleep_calls.c: a sleeping thread is woken, also if the wakeup comes first. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "asyncprof/sleep_calls.h"
#include "core/clock.h"
#include "test/fixtures/suite.h"

/* As async-profiler's thread does it. */
static void *sleep_while(void *flag)
{
	struct timespec until = { .tv_sec = (time_t)(clock_monotonic_ns() / 1000000000u) + 3600 };

	while (__atomic_load_n((bool *)flag, __ATOMIC_ACQUIRE) &&
	       engine_sleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, &until) == EINTR)
		;
	return NULL;
}

START_TEST(a_sleeper_is_woken_with_all_signals_blocked)
{
	sigset_t all, before;
	pthread_t thread;
	bool flag = true;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_while, &flag), 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (_i)
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	__atomic_store_n(&flag, false, __ATOMIC_RELEASE);
	ck_assert_int_eq(engine_wake(thread, SIGIO), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

START_TEST(a_deadline_that_passed_is_no_wait)
{
	struct timespec past = { .tv_sec = 1 };

	errno = EDOM;
	ck_assert_int_eq(engine_sleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL), 0);
	ck_assert_int_eq(engine_sleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 0 }, NULL), 0);
	ck_assert_int_eq(errno, EDOM);
}
END_TEST

START_TEST(another_signal_is_sent)
{
	ck_assert_int_eq(engine_wake(pthread_self(), 0), 0);
	ck_assert_int_eq(engine_wake(pthread_self(), 1000), EINVAL);
}
END_TEST

static void *sleep_a_while(void *slept)
{
	uint64_t end_ns = clock_monotonic_ns() + 300000000u;
	struct timespec until = { .tv_sec = (time_t)(end_ns / 1000000000u),
				  .tv_nsec = (long)(end_ns % 1000000000u) };

	*(int *)slept = engine_sleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	return clock_monotonic_ns() < end_ns ? NULL : slept;
}

/* A thread that must check its privileges does that in its sleep. */
START_TEST(a_look_ends_no_sleep)
{
	pthread_t thread;
	void *whole;
	int slept = -1;

	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_a_while, &slept), 0);
	for (int i = 0; i < 20; i++) {
		sleep_calls_check_privileges();
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	ck_assert_int_eq(pthread_join(thread, &whole), 0);
	ck_assert_ptr_nonnull(whole);
	ck_assert_int_eq(slept, 0);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("sleep");

	tcase_add_loop_test(cases, a_sleeper_is_woken_with_all_signals_blocked, 0, 2);
	tcase_add_test(cases, a_deadline_that_passed_is_no_wait);
	tcase_add_test(cases, another_signal_is_sent);
	tcase_add_test(cases, a_look_ends_no_sleep);
	return suite_run(cases);
}
