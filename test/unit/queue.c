/* upload/queue/queue.c: every report reaches each reporter once, whatever fails, or is reported as
 * dropped. */
#include "upload/queue/queue.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/agent/live.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "test/fixtures/a_report.h"
#include "test/fixtures/folder.h"
#include "test/fixtures/log_file.h"
#include "test/fixtures/suite.h"
#include "upload/queue/delivery.h"
#include "upload/queue/store.h"

static struct config config;
static char logfile[] = "/tmp/asprof-queue-XXXXXX";

static void setup(void)
{
	int fd;

	config = (struct config){ .spool_max_bytes = 100000 };
	recording_make();
	strcpy(logfile + strlen(logfile) - 6, "XXXXXX");
	fd = mkstemp(logfile);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(log_open(LOG_WARN, logfile), 0);
}

static void teardown(void)
{
	unlink(logfile);
}

static int count_log(const char *what)
{
	return log_file_count(logfile, what);
}

struct fake {
	struct reporter reporter;
	atomic_int err, tries;
	atomic_int got, failures;
	/* The one report that it never accepts; 0: none. It changes while a thread delivers. */
	_Atomic uint64_t fails_end_ms;
	uint64_t last_end_ms;
	struct report_losses losses;
	bool closed;
};

static int fake_deliver(struct reporter *reporter, const struct report *report)
{
	struct fake *fake = (struct fake *)reporter;
	char text[16] = "";

	fake->tries++;
	fake->failures += fake->err || report->end_ms == fake->fails_end_ms;
	if (fake->err)
		return fake->err;
	if (report->end_ms == fake->fails_end_ms)
		return -EAGAIN;
	for (size_t i = 0, at = 0; i < report->part_count; at += report->parts[i++].length) {
		const struct report_part *part = &report->parts[i];

		ck_assert_int_eq(fd_read(part->fd, text + at, part->length, part->offset), 0);
	}
	ck_assert_str_eq(text, "23478");
	ck_assert_str_eq(report->executable, "prog");
	/* Oldest first; but a failed one comes last, and reports of a spool that another reporter
	 * delivers at that moment are skipped. */
	ck_assert(config.spool_dir || fake->failures || report->end_ms >= fake->last_end_ms);
	fake->last_end_ms = report->end_ms;
	fake->losses = report->losses;
	fake->got++;
	return 0;
}

static void fake_close(struct reporter *reporter)
{
	((struct fake *)reporter)->closed = true;
}

static void fake_cancel(struct reporter *reporter)
{
	(void)reporter;
}

static struct fake a, b;
static struct reporter *queue;

/* On a busy machine close() leaves a queue to its thread. Then it is no leak. */
static struct reporter *opened[8];
static size_t opened_count;

static void open_queue(void)
{
	struct reporter *both[] = { &a.reporter, &b.reporter };

	if (!a.reporter.name) { /* the thread of an earlier queue may still read them */
		a.reporter = b.reporter = (struct reporter){ .name = "a",
							     .deliver = fake_deliver,
							     .close = fake_close,
							     .cancel = fake_cancel };
		b.reporter.name = "b";
	}
	ck_assert_int_eq(queue_open(&queue, both, 2, &config), 0);
	opened[opened_count++ % 8] = queue;
}

static void drain_now(uint64_t ms)
{
	queue->drain(queue, clock_monotonic_ns() + ms * 1000000);
}

/* Before another queue is opened: no thread of this one may still deliver to the same reporters. */
static void finish_queue(void)
{
	drain_now(20000);
	queue->close(queue);
}

static uint64_t recently(void)
{
	return clock_realtime_ns() / 1000000;
}

START_TEST(each_gets_every_report)
{
	struct report report = a_report(recently());

	open_queue();
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	ck_assert_int_eq(a.got, 20);
	ck_assert_int_eq(b.got, 20);
	queue->close(queue);
	ck_assert(a.closed && b.closed);
}
END_TEST

/* The maximum number of reporters, each with a thread and an entry in the status. */
START_TEST(every_reporter_is_served_and_shown)
{
	static struct fake all[REPORTERS_MAX];
	static struct live_status status;
	struct reporter *reporters[REPORTERS_MAX];
	struct report report = a_report(recently());

	ck_assert_uint_gt(REPORTERS_MAX, 4);
	for (size_t i = 0; i < REPORTERS_MAX; i++) {
		all[i].reporter = (struct reporter){ .name = "one",
						     .deliver = fake_deliver,
						     .close = fake_close,
						     .cancel = fake_cancel };
		reporters[i] = &all[i].reporter;
	}
	ck_assert_int_eq(queue_open(&queue, reporters, REPORTERS_MAX, &config), 0);
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	queue->add_status(queue, &status);
	ck_assert_uint_eq(status.destination_count, REPORTERS_MAX);
	for (size_t i = 0; i < REPORTERS_MAX; i++) {
		ck_assert_int_eq(all[i].got, 1);
		ck_assert_uint_eq(status.destinations[i].delivered, 1);
	}
	/* In addition there is space for the agent's other threads. */
	ck_assert_uint_le(own_thread_count() + 4, OWN_THREADS_MAX);
	queue->close(queue);
}
END_TEST

START_TEST(one_that_fails_holds_nobody)
{
	struct report report = a_report(recently());

	open_queue();
	b.err = -EIO;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	for (int i = 0; i < 100 && a.got < 5; i++)
		drain_now(300);
	ck_assert_int_eq(a.got, 5);
	ck_assert_int_eq(b.got, 0);
	b.err = 0;
	drain_now(5000);
	ck_assert_int_eq(b.got, 5);
	queue->close(queue);
}
END_TEST

START_TEST(refused_ones_are_dropped_and_told)
{
	struct report report = a_report(recently());

	open_queue();
	b.err = -EBADMSG;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	b.err = 0;
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	ck_assert_int_eq(b.got, 1);
	ck_assert_uint_eq(b.losses.dropped_refused, 3);
	ck_assert_uint_eq(b.losses.dropped_bytes, 15);
	queue->close(queue);
}
END_TEST

START_TEST(full_memory_drops_the_oldest)
{
	struct report report = a_report(recently());

	config.spool_max_bytes = 5 * 4;
	open_queue();
	a.err = b.err = -EIO;
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	a.err = b.err = 0;
	drain_now(5000);
	ck_assert_int_ge(b.got, 4);
	ck_assert_int_le(b.got, 6); /* a report that is being delivered is not dropped */
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	ck_assert_uint_ge(b.losses.dropped_full, 4);
	ck_assert_uint_eq(b.losses.dropped_bytes, 5 * b.losses.dropped_full);
	queue->close(queue);
}
END_TEST

START_TEST(old_ones_are_dropped_and_told)
{
	struct report old = a_report(recently() - STORE_AGE_MAX_MS - 1000);
	struct report report = a_report(recently());

	open_queue();
	ck_assert_int_eq(queue->deliver(queue, &old), 0);
	drain_now(5000);
	ck_assert_int_eq(a.got + b.got, 0);
	/* One line for both reporters, or a line for each. */
	ck_assert_int_eq(2 * count_log(" 2 undelivered reports are dropped") +
				 count_log(" 1 undelivered reports are dropped"),
			 2);
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	ck_assert_int_eq(a.got, 1);
	ck_assert_uint_eq(a.losses.dropped_aged, 2); /* once for each reporter */
	queue->close(queue);
}
END_TEST

/* As for a bucket that is made a moment late. At the end there is no wait for them. */
START_TEST(memory_keeps_what_is_refused_for_a_while)
{
	struct report report = a_report(recently());
	uint64_t began;

	open_queue();
	b.err = -EACCES;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	began = clock_monotonic_ns();
	drain_now(60000);
	ck_assert_uint_lt(clock_monotonic_ns() - began, 20000000000u);
	ck_assert_int_ge(b.tries, 1);
	b.err = 0;
	drain_now(5000);
	ck_assert_int_eq(b.got, 3);
	queue->close(queue);
}
END_TEST

/* Refused reports wait in a spool, because the cause may be corrected; a report that can never be
 * accepted does not wait. */
START_TEST(spool_keeps_what_is_refused_for_a_while)
{
	struct report report = a_report(recently()), old = a_report(recently() - 2 * 3600 * 1000);

	folder_make();
	config.spool_dir = folder;
	open_queue();
	b.err = -EACCES;
	ck_assert_int_eq(queue->deliver(queue, &old), 0);
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	for (int i = 0; i < 5; i++)
		drain_now(100);
	ck_assert_int_eq(folder_count(".jfr"), 2);
	b.err = -EBADMSG;
	for (int i = 0; i < 50 && folder_count("") != 0; i++)
		drain_now(100);
	ck_assert_int_eq(folder_count(""), 0);
	queue->close(queue);
	folder_remove();
}
END_TEST

/* In memory and in a spool. */
START_TEST(one_report_that_fails_holds_no_other)
{
	struct report report = a_report(recently()), old = a_report(recently() - 3600 * 1000);

	if (_i) {
		folder_make();
		config.spool_dir = folder;
	}
	open_queue();
	b.fails_end_ms = old.end_ms;
	ck_assert_int_eq(queue->deliver(queue, &old), 0);
	for (unsigned i = 1; i <= 5; i++) {
		report.end_ms++;
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	}
	for (int i = 0; i < 600 && (a.got < 6 || b.got < 5); i++)
		drain_now(100);
	ck_assert_int_eq(a.got, 6);
	ck_assert_int_eq(b.got, 5);
	ck_assert_int_gt(b.failures, 0);
	/* And it is retried. */
	b.fails_end_ms = 0;
	for (int i = 0; i < 600 && b.got < 6; i++)
		drain_now(100);
	ck_assert_int_eq(b.got, 6);
	queue->close(queue);
	if (_i)
		folder_remove();
}
END_TEST

/* A reporter without delay gets it within the call, and again later if it failed. */
START_TEST(who_takes_none_long_gets_it_at_once)
{
	struct report report = a_report(recently());

	open_queue();
	a.reporter.cancel = NULL;
	b.err = -EIO;
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	ck_assert_int_eq(a.got, 1);
	a.err = -ENOSPC;
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	ck_assert_int_eq(a.got, 1);
	a.err = b.err = 0;
	drain_now(5000);
	ck_assert_int_eq(a.got, 2);
	ck_assert_int_eq(b.got, 2);
	queue->close(queue);
}
END_TEST

static bool has_no_locks;

/* Replaces the C library's. */
int flock(int fd, int operation)
{
	if (!has_no_locks)
		return (int)syscall(SYS_flock, fd, operation);
	errno = ENOLCK;
	return -1;
}

/* Also on a file system without locks. */
START_TEST(spool_that_fails_is_done_without)
{
	struct report report = a_report(recently());

	has_no_locks = _i;
	if (_i)
		folder_make();
	config.spool_dir = _i ? folder : "/dev/null/spool";
	open_queue();
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	ck_assert_int_eq(a.got, 1);
	ck_assert_int_eq(b.got, 1);
	queue->close(queue);
	ck_assert_int_eq(count_log("its file system refuses locks (flock); mount it with locks"),
			 _i);
	if (_i)
		folder_remove();
}
END_TEST

START_TEST(spool_outlives_the_process)
{
	struct report report = a_report(recently());

	folder_make();
	config.spool_dir = folder;
	open_queue();
	b.err = -EIO;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	queue->close(queue);
	ck_assert_int_eq(a.got, 5);
	ck_assert_int_eq(folder_count(".jfr"), 5);
	b.err = 0;
	open_queue();
	drain_now(5000);
	queue->close(queue);
	ck_assert_int_eq(a.got, 5);
	ck_assert_int_eq(b.got, 5);
	ck_assert_int_eq(folder_count(""), 0);
	folder_remove();
}
END_TEST

static bool is_sent_within(struct report *report, int ms)
{
	int got = a.got;

	ck_assert_int_eq(queue->deliver(queue, report), 0);
	for (int i = 0; i < ms && a.got == got; i++)
		usleep(1000);
	return a.got != got;
}

/* Deliveries without work must not wake each other. */
START_TEST(none_is_woken_for_nothing)
{
	struct report report = a_report(recently());
	struct rusage before, after;

	open_queue();
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	for (int i = 0; i < 20000 && (!a.got || !b.got); i++)
		usleep(1000);
	ck_assert_int_eq(a.got + b.got, 2);
	usleep(50000);
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &before), 0);
	usleep(300000);
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &after), 0);
	ck_assert_int_lt(after.ru_nvcsw - before.ru_nvcsw, 100);
	queue->close(queue);
}
END_TEST

static struct report a_whole_report(uint64_t interval_ms)
{
	struct report report = a_report(recently());

	report.interval_ms = interval_ms;
	report.start_ms = report.end_ms - interval_ms;
	return report;
}

/* A process in a thousand sends within so short a time. */
START_TEST(each_process_sends_at_a_time_of_its_own)
{
	struct report report = a_whole_report(3600000), early = report;
	unsigned int at_once = 0;

	early.start_ms = early.end_ms - 1000;
	for (int i = 0; i < 5; i++) {
		open_queue();
		at_once += is_sent_within(&report, 50);
		ck_assert(is_sent_within(&early, 20000));
		finish_queue();
	}
	ck_assert_uint_lt(at_once, 5);
	report = a_whole_report(5000);
	open_queue();
	ck_assert(is_sent_within(&report, 20000));
	queue->close(queue);
}
END_TEST

/* After a shorter REPORTING_INTERVAL was set: reports that follow each other faster than the delay
 * do not prolong it, and the new interval's delay is shorter. */
START_TEST(a_delay_ends)
{
	struct report often = a_whole_report(10000), later = a_whole_report(3600000),
		      short_one = a_whole_report(5000);
	uint64_t began = clock_monotonic_ns();

	config.reporting_interval_ns = 3600 * 1000000000ull; /* at the start */
	open_queue();
	while (!is_sent_within(&often, 20))
		ck_assert_uint_lt(clock_monotonic_ns() - began, 20000000000u);
	finish_queue();
	open_queue();
	is_sent_within(&later, 50);
	ck_assert(is_sent_within(&short_one, 5000));
	queue->close(queue);
}
END_TEST

START_TEST(backoff_grows_to_half_a_minute)
{
	ck_assert_uint_eq(delivery_pause_ns(0, 0), 0);
	ck_assert_uint_le(delivery_pause_ns(0, UINT32_MAX), 1000000000u);
	ck_assert_uint_ge(delivery_pause_ns(0, UINT32_MAX), 999000000u);
	ck_assert_uint_ge(delivery_pause_ns(3, UINT32_MAX), 7990000000u);
	for (unsigned int i = 5; i < 100; i++) {
		ck_assert_uint_le(delivery_pause_ns(i, UINT32_MAX), 30000000000u);
		ck_assert_uint_ge(delivery_pause_ns(i, UINT32_MAX), 29900000000u);
	}
}
END_TEST

/* After the first success, each waiting report is sent without a pause. */
START_TEST(a_first_success_sends_the_rest)
{
	struct report report = a_report(recently());

	open_queue();
	a.err = b.err = -EIO;
	for (int i = 0; i < 200; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	while (!a.tries || !b.tries)
		usleep(1000);
	a.err = b.err = 0;
	/* After one failure, or a few, the pause is some seconds at most. */
	for (int i = 0; i < 2000 && (a.got < 200 || b.got < 200); i++)
		usleep(10000);
	ck_assert_int_eq(a.got, 200);
	ck_assert_int_eq(b.got, 200);
	queue->close(queue);
}
END_TEST

START_TEST(what_is_forgotten_is_said)
{
	struct report report = a_report(recently());

	open_queue();
	b.err = -EIO;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	if (_i)
		drain_now(200);
	queue->close(queue);
	ck_assert_int_eq(count_log("5 reports were not delivered and are lost; set "
				   "ASPROF_AGENT_SPOOL_DIR to keep them"),
			 1);
}
END_TEST

START_TEST(what_is_delivered_is_not_said)
{
	struct report report = a_report(recently());

	open_queue();
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	queue->close(queue);
	ck_assert_int_eq(count_log("report"), 0);
}
END_TEST

/* The set limit is kept, in memory too; and its memory use is logged once. */
START_TEST(memory_holds_what_it_is_told)
{
	struct report report = a_report(recently());
	const uint64_t length = 40ull << 20;

	ck_assert_int_eq(ftruncate(recording, (off_t)length), 0);
	report.part_count = 1;
	report.parts[0].offset = 0;
	report.parts[0].length = length;
	config.spool_max_bytes = 2 * length;
	config.spool_max_bytes_set = true;
	open_queue();
	a.err = b.err = -EIO;
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	ck_assert_int_eq(count_log("the oldest are dropped"), 0);
	drain_now(100);
	queue->close(queue);
	ck_assert_int_eq(count_log("2 reports were not delivered"), 1);
}
END_TEST

/* An unwritable directory does not delay the exit; a full disk may have space in a moment. */
START_TEST(what_does_not_pass_is_not_waited_for)
{
	struct report report = a_report(recently());
	uint64_t began = clock_monotonic_ns();

	open_queue();
	a.reporter.cancel = NULL;
	a.err = _i ? -EROFS : -EACCES;
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(20000);
	ck_assert_uint_lt(clock_monotonic_ns() - began, 10000000000u);
	ck_assert_int_eq(b.got, 1);
	queue->close(queue);
	ck_assert_int_eq(count_log("1 report was not delivered and is lost"), 1);
}
END_TEST

START_TEST(dropping_is_said_once)
{
	struct report report = a_report(recently());

	config.spool_max_bytes = 5 * 4;
	open_queue();
	a.err = b.err = -EIO;
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	ck_assert_int_eq(count_log("the oldest are dropped"), 1);
	queue->close(queue);
}
END_TEST

static struct deliveries deliveries;
static atomic_bool begun, noticed;

static void *wait_for_a_change(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&deliveries.lock);
	privileges_follow(true);
	atomic_store(&begun, true);
	deliveries_wait(&deliveries, UINT64_MAX);
	atomic_store(&noticed, true);
	pthread_mutex_unlock(&deliveries.lock);
	return NULL;
}

/* A waiting thread wakes up in between, to check privileges; here the change happens just then,
 * while that thread only waits for the lock. */
START_TEST(no_change_goes_unnoticed)
{
	pthread_t thread;
	uint64_t began;

	deliveries_init(&deliveries);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_a_change, NULL), 0);
	while (!atomic_load(&begun))
		usleep(1000);
	pthread_mutex_lock(&deliveries.lock); /* which it releases while it waits */
	began = clock_monotonic_ns();
	while (clock_monotonic_ns() < began + 2 * (uint64_t)PRIVILEGES_CHECK_NS)
		usleep(10000);
	deliveries_notify(&deliveries);
	pthread_mutex_unlock(&deliveries.lock);
	while (!atomic_load(&noticed) && clock_monotonic_ns() < began + 20000000000u)
		usleep(10000);
	ck_assert(atomic_load(&noticed));
	pthread_join(thread, NULL);
	deliveries_free(&deliveries);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("queue");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_gets_every_report);
	tcase_add_test(tcase, every_reporter_is_served_and_shown);
	tcase_add_test(tcase, one_that_fails_holds_nobody);
	tcase_add_test(tcase, refused_ones_are_dropped_and_told);
	tcase_add_test(tcase, full_memory_drops_the_oldest);
	tcase_add_test(tcase, old_ones_are_dropped_and_told);
	tcase_add_test(tcase, memory_keeps_what_is_refused_for_a_while);
	tcase_add_test(tcase, spool_keeps_what_is_refused_for_a_while);
	tcase_add_loop_test(tcase, one_report_that_fails_holds_no_other, 0, 2);
	tcase_add_test(tcase, who_takes_none_long_gets_it_at_once);
	tcase_add_loop_test(tcase, spool_that_fails_is_done_without, 0, 2);
	tcase_add_test(tcase, spool_outlives_the_process);
	tcase_add_test(tcase, none_is_woken_for_nothing);
	tcase_add_test(tcase, each_process_sends_at_a_time_of_its_own);
	tcase_add_test(tcase, a_delay_ends);
	tcase_add_test(tcase, backoff_grows_to_half_a_minute);
	tcase_add_test(tcase, a_first_success_sends_the_rest);
	tcase_add_loop_test(tcase, what_is_forgotten_is_said, 0, 2);
	tcase_add_test(tcase, what_is_delivered_is_not_said);
	tcase_add_test(tcase, memory_holds_what_it_is_told);
	tcase_add_loop_test(tcase, what_does_not_pass_is_not_waited_for, 0, 2);
	tcase_add_test(tcase, dropping_is_said_once);
	tcase_add_test(tcase, no_change_goes_unnoticed);
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
