/* Event-loop iterations: which are stalls, how stalls are reported, and when the watcher sleeps.
 * The tests spin to let time pass, so an iteration may only last longer than intended. */
#include "engine/sample/loop_iterations.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/futex.h"
#include "core/kernel.h"
#include "core/system.h"
#include "engine/sample/ring.h"
#include "test/fixtures/suite.h"

/* Limits: an iteration of a millisecond is a stall, or none is. */
#define SHORT_NS 1000000u
#define LONG_NS  (UINT64_C(1000) * 1000000000u)

/* (The last signals are not available under an emulator.) */
#define LATE_SIGNAL (SIGRTMIN + 5)

static struct {
	pid_t sampled;
	unsigned samples, stalls;
	uint64_t ns;
	int ready;
} told;

static void sample(pid_t tid)
{
	told.sampled = tid;
	told.samples++;
}

static void tell(uint64_t ns, int ready)
{
	told.stalls++;
	told.ns = ns;
	told.ready = ready;
	errno = ENOANO;
}

static const struct stall_output output = { .sample = sample, .report = tell };

static uint64_t ticks_of(uint64_t ns)
{
	static double rate;
	uint64_t began = clock_monotonic_ns(), ticks = clock_ticks();

	while (rate <= 0 && clock_monotonic_ns() - began < 5000000)
		;
	if (rate <= 0)
		rate = (double)(clock_ticks() - ticks) / (double)(clock_monotonic_ns() - began);
	return (uint64_t)((double)ns * rate);
}

static void spin(uint64_t ns)
{
	uint64_t began = clock_monotonic_ns();

	while (clock_monotonic_ns() - began < ns)
		;
}

/* Unless the machine delayed this thread in its last iteration, which then was a stall. */
static void told_no_more_than(unsigned stalls)
{
	if (told.stalls != stalls)
		ck_assert(told.stalls == stalls + 1 && told.ns > SHORT_NS);
}

static void begin(uint64_t ns)
{
	memset(&told, 0, sizeof(told));
	loop_iterations_set_output(&output);
	loop_iterations_open(ns, ticks_of(ns), 0);
}

static void end(void)
{
	loop_iterations_close();
	loop_iterations_after_fork();
}

START_TEST(a_turn_that_lasts_too_long)
{
	begin(SHORT_NS);
	loop_iteration_begin(3, -1);
	spin(2 * SHORT_NS);
	loop_iterations_check();
	ck_assert_uint_eq(told.samples, 1);
	ck_assert_int_eq(told.sampled, system_thread());
	loop_iterations_check(); /* the watcher does not signal the thread again */
	ck_assert_uint_eq(told.samples, 1);
	spin(SHORT_NS);
	loop_iteration_end();
	ck_assert_uint_eq(told.stalls, 1);
	ck_assert_int_eq(told.ready, 3);
	ck_assert(told.ns >= 29 * SHORT_NS / 10); /* the clocks agree to some thousandths */
	loop_iteration_begin(0, -1);
	loop_iteration_end();
	told_no_more_than(1);
	end();
}
END_TEST

START_TEST(loop_iterations_that_are_short)
{
	begin(LONG_NS);
	for (int i = 0; i < 1000; i++) {
		loop_iteration_end();
		loop_iteration_begin(i, 5);
		if (i % 10 == 0)
			loop_iterations_check();
	}
	spin(SHORT_NS);
	loop_iterations_check();
	loop_iteration_end();
	ck_assert_uint_eq(told.samples, 0);
	ck_assert_uint_eq(told.stalls, 0);
	end();
}
END_TEST

/* The watcher checks when the iteration becomes a stall, and not before. */
START_TEST(when_to_look_again)
{
	uint64_t in;

	begin(LONG_NS);
	loop_iteration_begin(0, -1);
	spin(SHORT_NS);
	in = loop_iterations_check();
	ck_assert(in > LONG_NS / 2 && in <= LONG_NS - SHORT_NS / 2);
	end();
}
END_TEST

/* The iteration that was found late has ended by now. */
START_TEST(a_turn_that_ends_as_it_is_found_late)
{
	begin(SHORT_NS);
	loop_iteration_begin(1, -1);
	spin(2 * SHORT_NS);
	loop_iterations_check();
	loop_iteration_begin(2, -1); /* as if the end of the previous iteration had not seen it */
	loop_iteration_end();
	ck_assert_int_ne(told.ready, 1);
	told_no_more_than(0);
	end();
}
END_TEST

/* The watcher has seen the iteration start, and then got no processor. */
START_TEST(a_turn_that_was_seen_once)
{
	begin(SHORT_NS);
	loop_iteration_begin(7, -1);
	ck_assert_uint_eq(told.stalls, 0);
	loop_iterations_check();
	spin(3 * SHORT_NS);
	loop_iteration_end();
	ck_assert_uint_eq(told.stalls, 1);
	ck_assert_int_eq(told.ready, 7);
	ck_assert(told.ns >= 29 * SHORT_NS / 10);
	end();
}
END_TEST

/* The watcher is overdue and got no processor: it has not even seen the start. */
START_TEST(a_turn_that_nobody_saw)
{
	uint64_t due;

	if (!clock_is_memory())
		return;
	begin(SHORT_NS);
	loop_iteration_begin(0, -1);
	loop_iteration_end();
	loop_iterations_check();
	due = atomic_load(&loop_iterations.due_ns);
	ck_assert(due != UINT64_MAX);
	loop_iteration_begin(8, -1);
	spin(3 * SHORT_NS);
	while (clock_coarse_ns() <= due)
		;
	loop_iteration_end();
	ck_assert_uint_eq(told.samples, 0);
	ck_assert_uint_eq(told.stalls, 1);
	ck_assert_int_eq(told.ready, 8);
	/* A short iteration is no stall in this case either. */
	loop_iteration_begin(9, -1);
	loop_iteration_end();
	told_no_more_than(1);
	end();
}
END_TEST

/* The first iteration has woken the watcher, which does not run: as above. */
START_TEST(a_watcher_that_does_not_wake)
{
	if (!clock_is_memory())
		return;
	begin(LONG_NS);
	loop_iterations_check();
	loop_iterations_check();
	ck_assert(atomic_load(&loop_iterations.asleep));
	ck_assert(atomic_load(&loop_iterations.due_ns) == UINT64_MAX);
	loop_iteration_begin(0, -1);
	ck_assert(atomic_load(&loop_iterations.due_ns) != UINT64_MAX);
	end();
	ck_assert(atomic_load(&loop_iterations.due_ns) == UINT64_MAX);
}
END_TEST

START_TEST(while_no_loop_turns_the_watcher_sleeps)
{
	begin(LONG_NS);
	loop_iteration_begin(0, -1);
	loop_iteration_end();
	ck_assert(loop_iterations_check() <= LONG_NS); /* there was an iteration */
	ck_assert(!atomic_load(&loop_iterations.asleep));
	ck_assert(loop_iterations_check() <= LONG_NS); /* an iteration may just have started */
	ck_assert(atomic_load(&loop_iterations.asleep));
	ck_assert_uint_eq(loop_iterations_check(), UINT64_MAX);
	ck_assert(!wake_is_pending(loop_iterations_wake()));
	loop_iteration_begin(0, -1);
	ck_assert(wake_is_pending(loop_iterations_wake()));
	ck_assert(!atomic_load(&loop_iterations.asleep));
	ck_assert(loop_iterations_check() <= LONG_NS);
	end();
}
END_TEST

/* A long iteration that was reported does not keep the watcher awake. */
START_TEST(a_hang_lets_the_watcher_sleep)
{
	begin(SHORT_NS);
	loop_iteration_begin(0, -1);
	spin(2 * SHORT_NS);
	loop_iterations_check();
	for (int i = 0; i < 3; i++)
		loop_iterations_check();
	ck_assert_uint_eq(loop_iterations_check(), UINT64_MAX);
	ck_assert_uint_eq(told.samples, 1);
	end();
}
END_TEST

START_TEST(more_than_are_told_in_a_second)
{
	uint64_t untold = loop_iterations_unreported();
	unsigned stalls = 2 * STALLS_REPORTED_PER_SECOND + 10;

	begin(1000);
	for (unsigned i = 0; i < stalls; i++) {
		loop_iteration_begin(0, -1);
		spin(10000);
		loop_iterations_check();
		loop_iteration_end();
	}
	/* (On a busy machine they took more than a second.) */
	ck_assert_uint_eq(told.stalls + loop_iterations_unreported() - untold, stalls);
	if (told.stalls <= STALLS_REPORTED_PER_SECOND)
		ck_assert_uint_eq(told.stalls, STALLS_REPORTED_PER_SECOND);
	end();
}
END_TEST

/* Iterations that started before loop_iterations_open() are no stalls: part of their time may have passed
 * before. */
START_TEST(loop_iterations_from_before)
{
	begin(SHORT_NS);
	loop_iteration_begin(0, -1);
	spin(2 * SHORT_NS);
	loop_iterations_close();
	loop_iterations_open(SHORT_NS, ticks_of(SHORT_NS), 0);
	loop_iterations_check();
	loop_iteration_end();
	ck_assert_uint_eq(told.samples, 0);
	ck_assert_uint_eq(told.stalls, 0);
	end();
}
END_TEST

START_TEST(not_watched_for)
{
	memset(&told, 0, sizeof(told));
	loop_iteration_end();
	loop_iteration_begin(1, -1);
	ck_assert_ptr_null(loop_iteration_own);
}
END_TEST

START_TEST(waits_that_are_none)
{
	begin(LONG_NS);
	ck_assert(loop_iteration_continues(0, -1)); /* waits for time only */
	ck_assert(!loop_iteration_continues(1, 7)); /* no loop is known yet */
	loop_iteration_begin(1, -1);
	ck_assert(!loop_iteration_continues(1, 7)); /* in a poll loop */
	ck_assert(!loop_iteration_continues(2, 7));
	loop_iteration_end();
	loop_iteration_begin(1, 5);
	ck_assert(loop_iteration_continues(1, 7)); /* waits for a reply, in an epoll loop */
	ck_assert(!loop_iteration_continues(2, 7));
	ck_assert(!loop_iteration_continues(
		1, 5)); /* a loop that waits for the other's epoll descriptor */
	loop_iteration_end();
	end();
}
END_TEST

static void *loop_iteration_and_end(void *unused)
{
	loop_iteration_begin(0, -1);
	*(struct loop_iteration **)unused = loop_iteration_own;
	loop_iterations_thread_ended();
	loop_iteration_begin(0, -1); /* in a destructor */
	ck_assert_ptr_null(loop_iteration_own);
	return NULL;
}

START_TEST(threads_that_end_give_theirs_back)
{
	struct loop_iteration *first = NULL, *second = NULL;
	pthread_t thread;

	begin(LONG_NS);
	pthread_create(&thread, NULL, loop_iteration_and_end, &first);
	pthread_join(thread, NULL);
	loop_iterations_check();
	pthread_create(&thread, NULL, loop_iteration_and_end, &second);
	pthread_join(thread, NULL);
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_eq(first, second);
	end();
}
END_TEST

static struct loop_iteration *late;
static struct sample taken;
static size_t events;

static void take(void *context, const struct sample *s)
{
	(void)context;
	if (s->kind != SAMPLE_STALL)
		return;
	taken = *s;
	events++;
	ck_assert_uint_eq(s->count, 2);
	ck_assert_uint_eq(s->pcs[1], 20);
	ck_assert_ptr_nonnull(sample_context(s));
	ck_assert_uint_eq(sample_context(s)->labels, sizeof("route\0/pay"));
	ck_assert_mem_eq(sample_context(s)->bytes, "route\0/pay", sizeof("route\0/pay"));
}

/* With a signal, as the thread's handler does it. The report has the context of that moment. */
START_TEST(the_stack_goes_with_the_stall)
{
	struct wake wake = { 0 };
	uint64_t before;

	ck_assert_int_eq(ring_open(1, 1u << 16, &wake), 0);
	memset(&told, 0, sizeof(told));
	loop_iterations_open(SHORT_NS, ticks_of(SHORT_NS), LATE_SIGNAL);
	before = clock_ticks();
	loop_iteration_begin(4, -1);
	late = loop_iteration_own;
	ck_assert(!loop_iteration_is_late(late));
	spin(2 * SHORT_NS);
	signal(LATE_SIGNAL, SIG_IGN);
	loop_iterations_check();
	ck_assert_ptr_eq(loop_iteration_of_signal((uintptr_t)late), late);
	ck_assert_ptr_null(loop_iteration_of_signal((uintptr_t)late + 8));
	ck_assert(loop_iteration_is_late(late));
	late->pcs[0] = 10;
	late->pcs[1] = 20;
	ck_assert_int_eq(thread_labels_set("route", "/pay"), 0);
	loop_iteration_sampled(late, 2, false);
	ck_assert_int_eq(thread_labels_set("route", "/next"), 0);
	ck_assert(!loop_iteration_is_late(late)); /* once only */
	loop_iteration_end();
	ring_drain(take, NULL);
	ck_assert_uint_eq(events, 1);
	ck_assert(taken.args[0] >= before && taken.ticks - taken.args[0] >= ticks_of(SHORT_NS));
	ck_assert_uint_eq(taken.args[1], 4);
	ck_assert_uint_eq(told.stalls, 0);
	thread_labels_end();
	end();
}
END_TEST

/* True when ITERATION's timer is armed. */
static bool is_armed(const struct loop_iteration *iteration)
{
	ck_assert(thread_timer_exists(&iteration->timer));
	return thread_timer_is_armed(&iteration->timer);
}

/* The kernel interrupts a late thread; another thread finds its timer disarmed. */
START_TEST(the_timer_of_a_turn)
{
	struct timespec most = { .tv_sec = 60 };
	struct wake wake = { 0 };
	sigset_t set;
	siginfo_t info;
	struct loop_iteration *iteration;

	ck_assert_int_eq(ring_open(1, 1u << 16, &wake), 0);
	sigemptyset(&set);
	sigaddset(&set, LATE_SIGNAL);
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	loop_iterations_open(LONG_NS, ticks_of(LONG_NS), LATE_SIGNAL);
	loop_iteration_begin(1, -1);
	iteration = loop_iteration_own;
	loop_iterations_check();
	ck_assert(is_armed(iteration));
	loop_iteration_end();
	ck_assert(!is_armed(iteration));
	/* The iteration that wakes the watcher does not wait for it. */
	loop_iterations_check();
	loop_iterations_check();
	ck_assert(atomic_load(&loop_iterations.asleep));
	loop_iteration_begin(1, -1);
	ck_assert(is_armed(iteration));
	loop_iteration_end();
	ck_assert(!is_armed(iteration));
	loop_iteration_begin(1, -1);
	ck_assert(!is_armed(iteration));
	loop_iteration_end();
	loop_iterations_close();

	loop_iterations_open(SHORT_NS, ticks_of(SHORT_NS), LATE_SIGNAL);
	loop_iteration_begin(2, -1);
	loop_iterations_check();
	ck_assert_int_eq(sigtimedwait(&set, &info, &most), LATE_SIGNAL);
	ck_assert_int_eq(info.si_code, SI_TIMER);
	ck_assert_ptr_eq(loop_iteration_of_signal((uintptr_t)info.si_value.sival_ptr), iteration);
	ck_assert(loop_iteration_is_late(iteration));
	loop_iteration_sampled(iteration, 0, false);
	loop_iteration_end();
	end();
}
END_TEST

/* The output may change errno. (asyncprof/stall_events.c restores it; the code here must not use it.) */
START_TEST(errno_is_left_alone)
{
	begin(LONG_NS);
	errno = EDOM;
	loop_iteration_begin(0, -1);
	loop_iteration_end();
	ck_assert_int_eq(errno, EDOM);
	end();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("loop_iterations");

	tcase_add_test(tcase, a_turn_that_lasts_too_long);
	tcase_add_test(tcase, loop_iterations_that_are_short);
	tcase_add_test(tcase, when_to_look_again);
	tcase_add_test(tcase, a_turn_that_ends_as_it_is_found_late);
	tcase_add_test(tcase, a_turn_that_was_seen_once);
	tcase_add_test(tcase, a_turn_that_nobody_saw);
	tcase_add_test(tcase, a_watcher_that_does_not_wake);
	tcase_add_test(tcase, while_no_loop_turns_the_watcher_sleeps);
	tcase_add_test(tcase, a_hang_lets_the_watcher_sleep);
	tcase_add_test(tcase, more_than_are_told_in_a_second);
	tcase_add_test(tcase, loop_iterations_from_before);
	tcase_add_test(tcase, not_watched_for);
	tcase_add_test(tcase, waits_that_are_none);
	tcase_add_test(tcase, threads_that_end_give_theirs_back);
	tcase_add_test(tcase, the_stack_goes_with_the_stall);
	tcase_add_test(tcase, the_timer_of_a_turn);
	tcase_add_test(tcase, errno_is_left_alone);
	return suite_run(tcase);
}
