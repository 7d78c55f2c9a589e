/* upload/s3/s3.c and its zip: a store that the test plays accepts, refuses, or is unavailable. The
 * requests are right, and each response has its right effect. */
#include "upload/s3/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zip.h>

#include "core/fd.h"
#include "core/log.h"
#include "test/fixtures/a_report.h"
#include "test/fixtures/suite.h"

static struct config config;

static struct {
	long status;
	const char *body;
	int64_t date;
	const char *const *ailments; /* codes of the first responses, NULL-terminated */
	const char *region;          /* sent with them */
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
	if (store.ailments && *store.ailments) {
		response->status = 400;
		response->date = 1000000000 + 1800;
		snprintf(response->region, sizeof(response->region), "%s",
			 store.region ? store.region : "eu-north-1");
		return buf_printf(&response->body, "<Code>%s</Code>", *store.ailments++);
	}
	response->status = store.status;
	response->date = store.date;
	if (store.status == 403 && store.date && !strcmp(store.date_sent, "20010909T021640Z"))
		response->status = 200; /* the clock was corrected by half an hour */
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
				  .tags = "k=v" };
	recording_make();
	ck_assert_int_eq(log_open(LOG_ERROR, "/dev/null"), 0);
}

static struct report the_report(void)
{
	struct report report = a_report(1500000000999);

	report.unique = 0x0badcafe;
	return report;
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
	struct report report = the_report();
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
			 "unknown___42_2017-07-14T02-40-00Z-0badcafe.zip");
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
	{ 400, "", -EACCES, 2 }, /* without the condition */
	{ 501, "<Code>NotImplemented</Code>", -EACCES, 2 },
	{ 409, "<Code>ConditionalRequestConflict</Code>", -EAGAIN, 1 },
	{ 301, "", -EACCES, 1 },
	{ 307, "", -EACCES, 1 },
	{ 403, "<Code>SignatureDoesNotMatch</Code>", -EACCES, 2 },
	{ 400, "<Code>KeyTooLongError</Code>", -EBADMSG, 1 },
	{ 413, "", -EBADMSG, 1 },
	{ 414, "", -EBADMSG, 1 },
	{ 409, "<Code>OperationAborted</Code>", -EAGAIN, 1 },
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
	struct report report = the_report();
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
	struct report report = the_report();
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

START_TEST(mends_all_that_can_be_mended)
{
	static const char *const ailments[] = { "RequestTimeTooSkewed", "ExpiredToken",
						"PermanentRedirect", NULL };
	struct report report = the_report();
	struct reporter *reporter;

	store.status = 200;
	store.ailments = ailments;
	ck_assert_int_eq(s3_reporter_open_with(&reporter, &config, environment, &http, tell_now),
			 0);
	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
	ck_assert_int_eq(store.sent, 4);
	ck_assert_ptr_nonnull(strstr(store.url, "s3.eu-north-1."));
	reporter->close(reporter);
}
END_TEST

static char *const nowhere[] = { "AWS_ACCESS_KEY_ID=A", "AWS_SECRET_ACCESS_KEY=S",
				 "AWS_EC2_METADATA_DISABLED=true", NULL };
static const struct {
	const char *endpoint;
	long status;
	char *const *environment;
	const char *words;
} causes[] = {
	{ NULL, 200, nowhere, "no region" },
	{ "http://user@host/", 200, environment, "not an http or https URL" },
	{ "http://user:word@host/", 200, environment, "not an http or https URL" },
	{ "http://host/?token=word", 200, environment, "not an http or https URL" },
	{ "http://host/#word", 200, environment, "not an http or https URL" },
	{ "http://u:wo/rd@host/?word", 200, environment, "not an http or https URL" },
	{ NULL, 403, environment, "answers 403" },
	{ NULL, 0, environment, "refused" },
};

START_TEST(says_a_cause_once)
{
	struct report report = the_report();
	char path[] = "/tmp/asprof-s3-XXXXXX", text[4096] = "", *line;
	int fd = mkstemp(path);
	struct reporter *reporter;

	ck_assert_int_eq(log_open(LOG_ERROR, path), 0);
	config.s3_endpoint = causes[_i].endpoint;
	store.status = causes[_i].status;
	ck_assert_int_eq(
		s3_reporter_open_with(&reporter, &config, causes[_i].environment, &http, tell_now),
		0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_lt(reporter->deliver(reporter, &report), 0);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	ck_assert_msg(strstr(text, causes[_i].words), "%s", text);
	ck_assert_msg(!strstr(text, "word") && !strstr(text, "wo/rd"), "%s", text);
	line = strchr(text, '\n');
	ck_assert_msg(line && !line[1], "%s", text);
	close(fd);
	unlink(path);
	reporter->close(reporter);
}
END_TEST

/* Such a report stays, so the operator must know the cause. */
START_TEST(says_once_what_cannot_be_read)
{
	struct report report = the_report();
	char path[] = "/tmp/asprof-s3-XXXXXX", text[4096] = "", *line;
	int fd = mkstemp(path);
	struct reporter *reporter;

	ck_assert_int_eq(log_open(LOG_ERROR, path), 0);
	ck_assert_int_eq(s3_reporter_open_with(&reporter, &config, environment, &http, tell_now),
			 0);
	report.parts[0].fd = -1;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(reporter->deliver(reporter, &report), -EBADF);
	ck_assert_int_eq(store.sent, 0);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	line = strstr(text, "cannot compress a report of 5 bytes: Bad file descriptor\n");
	ck_assert_msg(line && !strchr(line, '\n')[1], "%s", text);
	close(fd);
	unlink(path);
	reporter->close(reporter);
}
END_TEST

static const struct {
	const char *bucket, *owner, *region, *words;
} settings[] = {
	{ "evil.example/#", "1", "eu-west-1", "S3_BUCKET=evil.example/# is not" },
	{ "..", "1", "eu-west-1", "S3_BUCKET=.. is not" },
	{ "bucket", "1\r\nx: y", "eu-west-1", "S3_BUCKET_OWNER=" },
	{ "bucket", "1", "evil.example/#", "S3_REGION=evil.example/# is not" },
};

START_TEST(settings_lead_nowhere_else)
{
	struct report report = the_report();
	char path[] = "/tmp/asprof-s3-XXXXXX", text[4096] = "";
	int fd = mkstemp(path);
	struct reporter *reporter;

	ck_assert_int_eq(log_open(LOG_ERROR, path), 0);
	config.s3_bucket = settings[_i].bucket;
	config.s3_bucket_owner = settings[_i].owner;
	config.s3_region = settings[_i].region;
	store.status = 200;
	ck_assert_int_eq(s3_reporter_open_with(&reporter, &config, environment, &http, tell_now),
			 0);
	ck_assert_int_lt(reporter->deliver(reporter, &report), 0);
	ck_assert_int_eq(store.sent, 0);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	ck_assert_msg(strstr(text, settings[_i].words), "%s", text);
	close(fd);
	unlink(path);
	reporter->close(reporter);
}
END_TEST

/* In a response without TLS, which others may have changed. */
START_TEST(a_region_leads_nowhere_else)
{
	static const char *const ailments[] = { "PermanentRedirect", "PermanentRedirect", NULL };
	struct report report = the_report();
	struct reporter *reporter;

	store.status = 200;
	store.ailments = ailments;
	store.region = "evil.example/#";
	ck_assert_int_eq(s3_reporter_open_with(&reporter, &config, environment, &http, tell_now),
			 0);
	ck_assert_int_lt(reporter->deliver(reporter, &report), 0);
	ck_assert_int_eq(store.sent, 1);
	ck_assert_ptr_nonnull(strstr(store.url, "//bucket.s3.eu-west-1.amazonaws.com/"));
	reporter->close(reporter);
}
END_TEST

/* S3 accepts keys of 1,024 bytes. */
START_TEST(keys_are_bounded)
{
	static const char rest[] =
		"profile_my group_unknown___42_2017-07-14T02-40-00Z-0badcafe.zip";
	struct report report = the_report();
	size_t length = 1024 - strlen(rest) + (size_t)_i;
	struct reporter *reporter;
	char prefix[1100];

	memset(prefix, 'p', length);
	prefix[length] = '\0';
	config.s3_prefix = prefix;
	store.status = 200;
	ck_assert_int_eq(s3_reporter_open_with(&reporter, &config, environment, &http, tell_now),
			 0);
	ck_assert_int_eq(reporter->deliver(reporter, &report), _i > 0 ? -EBADMSG : 0);
	ck_assert_int_eq(store.sent, _i > 0 ? 0 : 1);
	reporter->close(reporter);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("s3");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, puts_a_zip);
	tcase_add_loop_test(tcase, judges_answers, 0, sizeof(answers) / sizeof(answers[0]));
	tcase_add_test(tcase, mends_the_clock);
	tcase_add_test(tcase, mends_all_that_can_be_mended);
	tcase_add_loop_test(tcase, says_a_cause_once, 0, sizeof(causes) / sizeof(causes[0]));
	tcase_add_test(tcase, says_once_what_cannot_be_read);
	tcase_add_loop_test(tcase, settings_lead_nowhere_else, 0,
			    sizeof(settings) / sizeof(settings[0]));
	tcase_add_test(tcase, a_region_leads_nowhere_else);
	tcase_add_loop_test(tcase, keys_are_bounded, -1, 3);
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
