/* upload/s3.c and its zip, and upload/queue.c with its stores: a store that is played here takes,
 * refuses, or is away; every report arrives once, or is told as dropped. */
#include "upload/s3.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zip.h>

#include "core/clock.h"
#include "core/fd.h"
#include "upload/queue.h"

static struct config config;
static int recording;

static struct {
	long status;
	const char *body;
	int64_t date;
	char url[512], authorization[512], date_sent[32], owner[32];
	uint8_t content[65536];
	size_t length;
	int sent;
} store;

static int64_t tell_now(void)
{
	return 1000000000;
}

static int answer(struct http *http, const struct http_request *request,
		  struct http_response *response)
{
	(void)http;
	store.sent++;
	snprintf(store.url, sizeof(store.url), "%.*s", (int)request->url.length,
		 (const char *)request->url.data);
	for (size_t i = 0; i < request->header_count; i++) {
		const struct http_header *header = &request->headers[i];

		if (!strcmp(header->name, "x-amz-date"))
			snprintf(store.date_sent, sizeof(store.date_sent), "%s", header->value);
		if (!strcmp(header->name, "x-amz-expected-bucket-owner"))
			snprintf(store.owner, sizeof(store.owner), "%s", header->value);
	}
	ck_assert_uint_le(request->body_length, sizeof(store.content));
	memcpy(store.content, request->body, request->body_length);
	store.length = request->body_length;
	response->status = store.status;
	response->date = store.date;
	if (store.status == 403 && store.date && !strcmp(store.date_sent, "20010909T021640Z"))
		response->status = 200; /* the clock was mended by half an hour */
	return store.status ? buf_append_string(&response->body, store.body ? store.body : "")
			    : -ECONNREFUSED;
}

static void close_http(struct http *http)
{
	(void)http;
}

static struct http http = { .send = answer, .close = close_http };
static char *const environment[] = { "AWS_ACCESS_KEY_ID=A", "AWS_SECRET_ACCESS_KEY=S",
				     "AWS_REGION=eu-west-1", "POD_NAME=p", NULL };

static void setup(void)
{
	memset(&store, 0, sizeof(store));
	config = (struct config){ .s3_bucket = "bucket",
				  .profiling_group = "my group",
				  .metadata = "none",
				  .tags = "k=v",
				  .spool_max_bytes = 100000 };
	recording = memfd_create("recording", MFD_CLOEXEC);
	ck_assert_int_eq(fd_write(recording, "0123456789", 10, 0), 0);
	ck_assert_int_eq(log_open(LOG_ERROR, "/dev/null"), 0);
}

static struct report a_report(uint64_t end_ms)
{
	return (struct report){ .parts = { { recording, 2, 3 }, { recording, 7, 2 } },
				.part_count = 2,
				.start_ms = end_ms - 1000,
				.end_ms = end_ms,
				.interval_ms = 1000,
				.pid = 42,
				.executable = "prog",
				.engine = "builtin" };
}

static const char *entry(zip_t *zip, const char *name)
{
	static char text[4096];
	zip_file_t *file = zip_fopen(zip, name, 0);
	zip_int64_t n;

	ck_assert_ptr_nonnull(file);
	n = zip_fread(file, text, sizeof(text) - 1);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	ck_assert_int_eq(zip_fclose(file), 0); /* checks the sum */
	return text;
}

START_TEST(puts_a_zip)
{
	struct report report = a_report(1500000000999);
	struct reporter *reporter;
	zip_error_t error;
	zip_t *zip;

	store.status = 200;
	config.s3_bucket_owner = "123";
	config.s3_prefix = "a/b:";
	ck_assert_int_eq(s3_reporter_open_with(&reporter, &config, environment, &http, tell_now),
			 0);
	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
	ck_assert_str_eq(store.url,
			 "https://bucket.s3.eu-west-1.amazonaws.com/a/b%3Aprofile_my%20group_"
			 "unknown___42_2017-07-14T02-40-00Z.zip");
	ck_assert_str_eq(store.owner, "123");
	zip = zip_open_from_source(zip_source_buffer_create(store.content, store.length, 0, &error),
				   ZIP_CHECKCONS, &error);
	ck_assert_ptr_nonnull(zip);
	ck_assert_int_eq(zip_get_num_entries(zip, 0), 2);
	ck_assert_str_eq(entry(zip, "async_profiler_dump_0.jfr"), "23478");
	ck_assert_ptr_nonnull(strstr(entry(zip, "metadata.json"),
				     "{\"start\":1499999999999,\"end\":1500000000999,"
				     "\"reporting_interval\":1000,\"agent\":{"));
	ck_assert_ptr_nonnull(strstr(entry(zip, "metadata.json"), "\"tags\":{\"k\":\"v\"}"));
	ck_assert_ptr_nonnull(
		strstr(entry(zip, "metadata.json"), "\"kubernetes\":{\"pod\":\"p\"}"));
	zip_discard(zip);
	reporter->close(reporter);
}
END_TEST

static const struct {
	long status;
	const char *body;
	int err, sent;
} answers[] = {
	{ 200, "", 0, 1 },
	{ 403, "<Code>AccessDenied</Code>", -EACCES, 1 },
	{ 404, "<Code>NoSuchBucket</Code>", -EACCES, 1 },
	{ 400, "", -EACCES, 1 },
	{ 400, "<Code>EntityTooLarge</Code>", -EBADMSG, 1 },
	{ 400, "<Code>RequestTimeout</Code>", -EAGAIN, 1 },
	{ 400, "<Code>ExpiredToken</Code>", -EAGAIN, 2 },
	{ 403, "<Code>InvalidAccessKeyId</Code>", -EACCES, 2 },
	{ 429, "", -EAGAIN, 1 },
	{ 500, "", -EAGAIN, 1 },
	{ 503, "<Code>SlowDown</Code>", -EAGAIN, 1 },
	{ 0, NULL, -ECONNREFUSED, 1 },
};

START_TEST(judges_answers)
{
	struct report report = a_report(1500000000999);
	struct reporter *reporter;

	store.status = answers[_i].status;
	store.body = answers[_i].body;
	ck_assert_int_eq(s3_reporter_open_with(&reporter, &config, environment, &http, tell_now),
			 0);
	ck_assert_int_eq(reporter->deliver(reporter, &report), answers[_i].err);
	ck_assert_int_eq(store.sent, answers[_i].sent);
	reporter->close(reporter);
}
END_TEST

START_TEST(mends_the_clock)
{
	struct report report = a_report(1500000000999);
	struct reporter *reporter;

	store.status = 403;
	store.body = "<Code>RequestTimeTooSkewed</Code>";
	store.date = 1000000000 + 1800;
	ck_assert_int_eq(s3_reporter_open_with(&reporter, &config, environment, &http, tell_now),
			 0);
	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
	ck_assert_int_eq(store.sent, 2);
	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
	ck_assert_int_eq(store.sent, 3);
	reporter->close(reporter);
}
END_TEST

/* --- queue --- */

struct fake {
	struct reporter reporter;
	atomic_int err, tries;
	atomic_int got;
	uint64_t last_end_ms;
	struct report_losses losses;
	bool closed;
};

static int fake_deliver(struct reporter *reporter, const struct report *report)
{
	struct fake *fake = (struct fake *)reporter;
	char text[16] = "";

	fake->tries++;
	if (fake->err)
		return fake->err;
	ck_assert_int_eq(
		fd_read(report->parts[0].fd, text, report_length(report), report->parts[0].offset),
		0);
	ck_assert_str_eq(text, "23478");
	ck_assert_str_eq(report->executable, "prog");
	ck_assert_uint_ge(report->end_ms, fake->last_end_ms); /* oldest first */
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

static void open_queue(void)
{
	struct reporter *both[] = { &a.reporter, &b.reporter };

	a.reporter = b.reporter = (struct reporter){
		.name = "a", .deliver = fake_deliver, .close = fake_close, .cancel = fake_cancel
	};
	b.reporter.name = "b";
	ck_assert_int_eq(queue_open(&queue, both, 2, &config), 0);
}

static void drain_now(uint64_t ms)
{
	queue->drain(queue, clock_monotonic_ns() + ms * 1000000);
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

START_TEST(one_that_fails_holds_nobody)
{
	struct report report = a_report(recently());

	open_queue();
	b.err = -EIO;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
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
	b.err = -EACCES;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	b.err = 0;
	ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	ck_assert_int_eq(b.got, 1);
	ck_assert_uint_eq(b.losses.refused, 3);
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
	ck_assert_int_le(b.got, 6); /* what is being tried is not dropped */
	queue->close(queue);
}
END_TEST

static char spool[64];

static int files(void)
{
	DIR *listing = opendir(spool);
	struct dirent *found;
	int count = 0;

	while ((found = readdir(listing)))
		count += found->d_name[0] != '.';
	closedir(listing);
	return count;
}

START_TEST(spool_outlives_the_process)
{
	struct report report = a_report(recently());

	strcpy(spool, "/tmp/asprof-spool-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(spool));
	config.spool_dir = spool;
	open_queue();
	b.err = -EIO;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(queue->deliver(queue, &report), 0);
	drain_now(5000);
	queue->close(queue);
	ck_assert_int_eq(a.got, 5);
	ck_assert_int_eq(files(), 10);
	b.err = 0;
	open_queue();
	drain_now(5000);
	queue->close(queue);
	ck_assert_int_eq(a.got, 5);
	ck_assert_int_eq(b.got, 5);
	ck_assert_int_eq(files(), 0);
	ck_assert_int_eq(rmdir(spool), 0);
}
END_TEST

START_TEST(backoff_grows_to_five_minutes)
{
	ck_assert_uint_eq(queue_backoff_ns(0, 0), 0);
	ck_assert_uint_le(queue_backoff_ns(0, UINT32_MAX), 1000000000u);
	ck_assert_uint_ge(queue_backoff_ns(0, UINT32_MAX), 999000000u);
	ck_assert_uint_ge(queue_backoff_ns(3, UINT32_MAX), 7990000000u);
	for (unsigned int i = 9; i < 100; i++) {
		ck_assert_uint_le(queue_backoff_ns(i, UINT32_MAX), 300000000000u);
		ck_assert_uint_ge(queue_backoff_ns(i, UINT32_MAX), 299000000000u);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("s3");
	TCase *tcase = tcase_create("s3");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, puts_a_zip);
	tcase_add_loop_test(tcase, judges_answers, 0, sizeof(answers) / sizeof(answers[0]));
	tcase_add_test(tcase, mends_the_clock);
	tcase_add_test(tcase, each_gets_every_report);
	tcase_add_test(tcase, one_that_fails_holds_nobody);
	tcase_add_test(tcase, refused_ones_are_dropped_and_told);
	tcase_add_test(tcase, full_memory_drops_the_oldest);
	tcase_add_test(tcase, spool_outlives_the_process);
	tcase_add_test(tcase, backoff_grows_to_five_minutes);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
