/* engine/collect/thread_times: one event for each thread and report. This file fakes the threads, their counts, the
 * clock's rate and the recording. */
#include "engine/collect/thread_times.h"

#include <errno.h>

#include "core/clock.h"
#include "engine/collect/tick_rate.h"
#include "engine/process/cpu_limit.h"
#include "engine/process/thread_counts.h"
#include "test/fixtures/suite.h"

static struct thread slot;
static struct thread_counts counts; /* of the thread, now */
static unsigned reads;
static uint64_t throttled_ns;

static struct {
	uint64_t span;
	pid_t tid;
	struct jfr_thread_times times;
} events[4];
static size_t event_count;
static uint64_t throttling[2];
static size_t throttling_count;

void threads_each(void (*visit)(void *context, struct thread *thread), void *context)
{
	visit(context, &slot);
}

uint64_t thread_clock_cpu(const struct thread_clock *clock)
{
	ck_assert_ptr_eq(clock, &slot.clock);
	return counts.cpu_ns;
}

int thread_counts_read(pid_t tid, struct thread_counts *out, bool times_only)
{
	ck_assert_int_eq(tid, slot.tid);
	ck_assert(!times_only);
	reads++;
	*out = counts;
	return 0;
}

int cpu_limit_throttled(uint64_t *ns)
{
	*ns = throttled_ns;
	return throttled_ns ? 0 : -ENOENT;
}

/* Each event lasts 1000 ns, or no time. */
uint64_t tick_rate_ns(uint64_t ticks)
{
	return ticks ? 1000 : 0;
}

void jfr_thread_times(struct jfr_writer *w, uint64_t ticks, uint64_t span_ticks, pid_t tid,
		      const struct jfr_thread_times *times)
{
	(void)w, (void)ticks;
	ck_assert_uint_lt(event_count, 4);
	events[event_count].span = span_ticks;
	events[event_count].tid = tid;
	events[event_count++].times = *times;
}

void jfr_throttling(struct jfr_writer *w, uint64_t ticks, uint64_t span_ticks, uint64_t ns)
{
	(void)w, (void)ticks, (void)span_ticks;
	throttling[throttling_count++] = ns;
}

static void setup(void)
{
	slot = (struct thread){ .tid = 7, .index = 70, .born_ticks = clock_ticks() };
	counts = (struct thread_counts){ .cpu_ns = 5000, .queue_ns = 300, .major_faults = 1 };
	event_count = throttling_count = reads = 0;
	throttled_ns = 0;
}

static void teardown(void)
{
	thread_times_stop();
}

static void expect_times(size_t at, uint64_t cpu_ns, uint64_t queue_ns, uint64_t blocked_ns)
{
	ck_assert_uint_lt(at, event_count);
	ck_assert_int_eq(events[at].tid, slot.tid);
	ck_assert_uint_eq(events[at].times.cpu_ns, cpu_ns);
	ck_assert_uint_eq(events[at].times.run_queue_ns, queue_ns);
	ck_assert_uint_eq(events[at].times.blocked_ns, blocked_ns);
}

START_TEST(nothing_before_the_start)
{
	thread_times_write(NULL);
	thread_times_end(NULL, &slot, 0);
	ck_assert_uint_eq(event_count, 0);
}
END_TEST

/* What it did before the start does not count. */
START_TEST(differences)
{
	thread_times_start();
	counts.cpu_ns += 200;
	counts.queue_ns += 100;
	counts.major_faults += 2;
	counts.bytes_read = 44;
	thread_times_write(NULL);
	expect_times(0, 200, 100, 700);
	ck_assert_uint_eq(events[0].times.major_faults, 2);
	ck_assert_uint_eq(events[0].times.bytes_read, 44);
	/* A thread that has not run: no file is read. */
	reads = 0;
	thread_times_write(NULL);
	ck_assert_uint_eq(reads, 0);
	expect_times(1, 0, 0, 1000);
}
END_TEST

/* The times of the kernel are not read at one moment. */
START_TEST(times_add_up)
{
	thread_times_start();
	counts.cpu_ns += 1100;
	counts.queue_ns += 100;
	thread_times_write(NULL);
	expect_times(0, 1000, 0, 0);
	counts.cpu_ns += 900;
	counts.queue_ns += 300;
	thread_times_write(NULL);
	expect_times(1, 900, 100, 0);
}
END_TEST

START_TEST(a_new_thread_counts_from_its_start)
{
	thread_times_start();
	slot.tid = 8;
	thread_times_write(NULL);
	expect_times(0, 1000, 0, 0);
}
END_TEST

START_TEST(a_thread_that_has_ended)
{
	thread_times_start();
	atomic_store(&slot.ended, true);
	thread_times_write(NULL);
	ck_assert_uint_eq(event_count, 0);
	thread_times_end(NULL, &slot, 0); /* its counts are not known */
	ck_assert_uint_eq(event_count, 0);
	slot.end = (struct thread_end){ .ticks = clock_ticks(),
					.cpu_ns = 5400,
					.voluntary_switches = 6 };
	thread_times_end(NULL, &slot, 350);
	expect_times(0, 400, 50, 550);
	ck_assert_uint_eq(events[0].times.voluntary_switches, 6);
}
END_TEST

/* The thread has noted its end, but its slot does not say so yet. */
START_TEST(a_thread_that_ends_during_a_report)
{
	thread_times_start();
	slot.end = (struct thread_end){ .ticks = clock_ticks(), .cpu_ns = 5400 };
	counts.cpu_ns += 400;
	while (clock_ticks() == slot.end.ticks)
		;
	thread_times_write(NULL);
	expect_times(0, 400, 0, 600);
	thread_times_end(NULL, &slot, 0);
	expect_times(1, 0, 0, 0);
	ck_assert_uint_eq(events[1].span, 0);
}
END_TEST

START_TEST(throttled_time_of_a_report)
{
	throttled_ns = 10;
	thread_times_start();
	thread_times_write(NULL);
	ck_assert_uint_eq(throttling_count, 0);
	throttled_ns = 30;
	thread_times_write(NULL);
	ck_assert_uint_eq(throttling_count, 1);
	ck_assert_uint_eq(throttling[0], 20);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, nothing_before_the_start);
	tcase_add_test(tests, differences);
	tcase_add_test(tests, times_add_up);
	tcase_add_test(tests, a_new_thread_counts_from_its_start);
	tcase_add_test(tests, a_thread_that_has_ended);
	tcase_add_test(tests, a_thread_that_ends_during_a_report);
	tcase_add_test(tests, throttled_time_of_a_report);
	return suite_run(tests);
}
