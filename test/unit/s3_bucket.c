/* upload/s3/s3_bucket.c, and its use in s3.c: a report gets a unique name, arrives once, and
 * follows redirects of the bucket, with a store that the test plays by a script. */
#include "upload/s3/s3_bucket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "test/fixtures/a_report.h"
#include "test/fixtures/log_file.h"
#include "test/fixtures/suite.h"
#include "upload/s3/s3.h"

#define STEPS 16

/* The expected requests, in order, and the responses. */
struct step {
	const char *method;
	const char *url;    /* a part of it */
	bool unconditional; /* a PUT without if-none-match */
	long status;        /* 0: none, but ERR */
	int err;
	const char *body;
	const char *region, *location;
	bool unanswered; /* as struct http_response has it */
	bool same;       /* the stored object is the last one */
	bool other;
};

static struct config config;
static const struct step *script;
static size_t at;
static char put_sha256[65], names[STEPS][256], scope[STEPS][64],
	log_path[] = "/tmp/asprof-s3-XXXXXX";
static int log_fd = -1;

static int64_t tell_now(void)
{
	return 1000000000;
}

static const char *header(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++)
		if (!strcmp(request->headers[i].name, name))
			return request->headers[i].value;
	return NULL;
}

static void look_at(const struct http_request *request, const char *url)
{
	const char *authorization = header(request, "authorization");
	const char *host = strstr(url, "://") + 3, *names_it = header(request, "host");

	/* Signed for the host and region of the request. */
	ck_assert(!strncmp(host, names_it, strlen(names_it)) && host[strlen(names_it)] == '/');
	ck_assert_ptr_nonnull(strstr(authorization, "host;"));
	ck_assert_int_eq(
		sscanf(strstr(authorization, "Credential="), "%*[^/]/%*[^/]/%63[^/]", scope[at]),
		1);
	snprintf(names[at], sizeof(names[at]), "%s", strrchr(url, '/') + 1);
	if (header(request, "x-amz-meta-sha256"))
		snprintf(put_sha256, sizeof(put_sha256), "%s",
			 header(request, "x-amz-meta-sha256"));
}

static int play(struct http *http, const struct http_request *request,
		struct http_response *response)
{
	const struct step *step = &script[at];
	char url[1024];

	(void)http;
	snprintf(url, sizeof(url), "%.*s", (int)request->url.length,
		 (const char *)request->url.data);
	ck_assert_msg(step->method, "asked too often: %s %s", request->method, url);
	ck_assert_str_eq(request->method, step->method);
	ck_assert_msg(!step->url || strstr(url, step->url), "%s", url);
	ck_assert_int_eq(header(request, "if-none-match") != NULL,
			 !strcmp(request->method, "PUT") && !step->unconditional);
	look_at(request, url);
	at++;
	response->status = step->status;
	response->unanswered = step->unanswered;
	snprintf(response->region, sizeof(response->region), "%s",
		 step->region ? step->region : "");
	snprintf(response->location, sizeof(response->location), "%s",
		 step->location ? step->location : "");
	if (step->same || step->other)
		snprintf(response->sha256, sizeof(response->sha256), "%s",
			 step->same ? put_sha256 : "0");
	if (step->body && strcmp(request->method, "HEAD") != 0)
		buf_append_string(&response->body, step->body);
	return step->status ? 0 : step->err;
}

static void close_http(struct http *http)
{
	(void)http;
}

static struct http http = { .send = play, .close = close_http };
static struct reporter *reporter;

static void setup(void)
{
	static char *const environment[] = { "AWS_ACCESS_KEY_ID=0123456789",
					     "AWS_SECRET_ACCESS_KEY=S", "AWS_REGION=eu-west-1",
					     NULL };

	config = (struct config){ .s3_bucket = "bucket",
				  .profiling_group = "g",
				  .s3_endpoint = "https://store.example",
				  .metadata = "none" };
	recording_make();
	log_fd = mkstemp(log_path);
	ck_assert_int_eq(log_open(LOG_WARN, log_path), 0);
	ck_assert_int_eq(s3_reporter_open_with(&reporter, &config, environment, &http, tell_now),
			 0);
}

static void teardown(void)
{
	reporter->close(reporter);
	close(log_fd);
	unlink(log_path);
}

static void play_script(const struct step *steps)
{
	script = steps;
	at = 0;
}

static void expect_of(uint64_t end_ms, const char *origin, int err)
{
	struct report report = a_report(end_ms);

	report.unique = 0x0badcafe;
	report.origin = origin;
	ck_assert_int_eq(reporter->deliver(reporter, &report), err);
}

static void expect(int err)
{
	expect_of(1500000000999, NULL, err);
}

static void expect_end(void)
{
	ck_assert_msg(!script[at].method, "only %zu were sent", at);
}

static bool is_logged(const char *words)
{
	static char text[8192];
	ssize_t n = pread(log_fd, text, sizeof(text) - 1, 0);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	return strstr(text, words);
}

#define PUT   .method = "PUT"
#define HEAD  .method = "HEAD"
#define TAKEN .status = 412, .body = "<Code>PreconditionFailed</Code>"
#define PUT_GONE                       \
	{                              \
		PUT, .err = -ETIMEDOUT \
	}

START_TEST(another_name_where_it_is_taken)
{
	static const struct step steps[] = {
		{ PUT, .url = "-0badcafe.zip", TAKEN },
		{ HEAD, .url = "-0badcafe.zip", .status = 200, .other = true },
		{ PUT, .status = 200 },
		/* The next report has its own again. */
		{ PUT, .url = "-0badcafe.zip", .status = 200 },
		{ 0 },
	};

	play_script(steps);
	expect(0);
	ck_assert_str_ne(names[0], names[2]);
	ck_assert_uint_eq(strlen(names[0]), strlen(names[2]));
	expect(0);
	expect_end();
}
END_TEST

START_TEST(its_own_name_is_not_taken)
{
	static const struct step steps[] = {
		{ PUT, TAKEN },
		{ HEAD, .status = 200, .same = true },
		{ 0 },
	};

	play_script(steps);
	expect(0);
	expect_end();
}
END_TEST

/* Without the right to read, the owner of an object is unknown: after an attempt without a
 * response, it counts as this process's. */
START_TEST(a_name_that_one_may_not_look_at)
{
	static const struct step after_doubt[] = {
		PUT_GONE, { HEAD, .status = 403 }, { PUT, TAKEN }, { HEAD, .status = 403 }, { 0 },
	};
	static const struct step sent_twice[] = {
		{ PUT, TAKEN, .unanswered = true },
		{ HEAD, .status = 403 },
		{ 0 },
	};
	static const struct step without[] = {
		{ PUT, TAKEN },
		{ HEAD, .status = 403 },
		{ PUT, .status = 200 },
		{ 0 },
	};

	play_script(after_doubt);
	expect(-ETIMEDOUT);
	expect(0);
	expect_end();
	play_script(sent_twice);
	expect(0);
	expect_end();
	play_script(without);
	expect(0);
	expect_end();
	ck_assert_str_ne(names[0], names[2]);
}
END_TEST

/* A gateway that answers HEAD with a failure does not prevent delivery. */
static const long head_failures[] = { 500, 501, 502, 503, 405 };

START_TEST(a_store_that_has_no_head)
{
	const struct step steps[] = {
		/* It was missing, or it was there. */
		PUT_GONE,
		{ HEAD, .status = head_failures[_i] },
		{ PUT, .status = 200 },
		PUT_GONE,
		{ HEAD, .status = head_failures[_i] },
		{ PUT, TAKEN },
		{ HEAD, .status = head_failures[_i] },
		/* An earlier process's. */
		{ HEAD, .status = head_failures[_i] },
		{ PUT, .status = 200 },
		{ 0 },
	};

	play_script(steps);
	for (int i = 0; i < 2; i++) {
		expect(-ETIMEDOUT);
		expect(0);
	}
	expect_of(999999999000, "{}", 0);
	expect_end();
	ck_assert_int_eq(log_file_count(log_path, "answers HEAD with"), head_failures[_i] >= 500);
}
END_TEST

/* Several reports may be uncertain at one time. */
START_TEST(a_doubt_is_remembered_with_its_report)
{
	static const struct step steps[] = {
		PUT_GONE,
		PUT_GONE,
		{ HEAD, .status = 404 },
		{ PUT, .status = 200 },
		{ HEAD, .status = 404 },
		{ PUT, .status = 200 },
		{ 0 },
	};
	struct report_begun begun[2] = { { .doubt = DOUBT_NONE } };
	struct report reports[2];

	play_script(steps);
	for (int i = 0; i < 4; i++) {
		reports[i % 2] = a_report(1500000000999);
		reports[i % 2].unique = (uint32_t)i % 2;
		reports[i % 2].begun = &begun[i % 2];
		ck_assert_int_eq(reporter->deliver(reporter, &reports[i % 2]),
				 i < 2 ? -ETIMEDOUT : 0);
	}
	expect_end();
}
END_TEST

/* The store has it, but a response from a gateway reports a failure; and HEAD is refused. */
START_TEST(one_name_where_a_gateway_hides_the_store)
{
	static const struct step steps[] = {
		/* Without the store's error code. */
		{ PUT, .url = "-0badcafe.zip", .status = 503 },
		{ HEAD, .status = 403 },
		{ PUT, .url = "-0badcafe.zip", TAKEN },
		{ HEAD, .status = 503 },
		/* Sent twice by the HTTP client. The store has the first, and refuses the second. */
		{ PUT, .status = 503, .body = "<Code>SlowDown</Code>", .unanswered = true },
		{ HEAD, .status = 405 },
		{ PUT, .url = "-0badcafe.zip", TAKEN },
		{ HEAD, .status = 501 },
		/* No response to HEAD. */
		{ PUT, TAKEN, .unanswered = true },
		{ HEAD, .err = -ETIMEDOUT },
		{ HEAD, .status = 403 },
		{ PUT, .url = "-0badcafe.zip", TAKEN },
		{ HEAD, .status = 403 },
		{ 0 },
	};

	play_script(steps);
	expect(-EAGAIN);
	expect(0);
	expect(-EAGAIN);
	expect(0);
	expect(-ETIMEDOUT);
	expect(0);
	expect_end();
}
END_TEST

/* A busy store has not accepted it: HEAD is not sent. */
START_TEST(a_busy_store_is_not_asked)
{
	static const struct step steps[] = {
		{ PUT, .status = 503, .body = "<Code>SlowDown</Code>" },
		{ PUT, .status = 200 },
		{ 0 },
	};

	play_script(steps);
	expect(-EAGAIN);
	expect(0);
	expect_end();
}
END_TEST

/* From a spool, while this process runs: the other one was killed when the store had it. */
START_TEST(one_name_for_what_a_killed_process_has_sent)
{
	static const struct step steps[] = {
		{ PUT, .url = "-0badcafe.zip", TAKEN },
		{ HEAD, .status = 403 },
		{ 0 },
	};

	play_script(steps);
	expect_of(1000000001000, "{}", 0);
	expect_end();
}
END_TEST

/* The log reports once that HEAD fails, although other responses to it do not know the object
 * either. */
START_TEST(refused_heads_are_said_once)
{
	static const long statuses[] = { 503, 403, 501, 405, 503 };
	struct step steps[12] = { PUT_GONE };

	for (int i = 0; i < 5; i++) {
		steps[2 * i + 1] = (struct step){ HEAD, .status = statuses[i] };
		steps[2 * i + 2] = (struct step)PUT_GONE;
	}
	play_script(steps);
	for (int i = 0; i < 6; i++)
		expect(-ETIMEDOUT);
	expect_end();
	ck_assert_int_eq(log_file_count(log_path, "answers HEAD with"), 1);
}
END_TEST

START_TEST(names_are_not_tried_for_ever)
{
	static const struct step steps[] = {
		{ PUT, TAKEN }, { HEAD, .status = 200, .other = true },
		{ PUT, TAKEN }, { HEAD, .status = 200, .other = true },
		{ PUT, TAKEN }, { HEAD, .status = 200, .other = true },
		{ PUT, TAKEN }, { HEAD, .status = 200, .other = true },
		{ 0 },
	};

	play_script(steps);
	expect(-EACCES);
	expect_end();
	ck_assert(is_logged("reports that each tried key exists"));
}
END_TEST

/* A stopped store that continues has it, without a response. */
START_TEST(asks_before_it_sends_again)
{
	static const struct step has_it[] = {
		PUT_GONE,
		{ HEAD, .status = 200, .same = true },
		{ PUT, .status = 200 }, /* the next report: no doubt */
		{ 0 },
	};
	static const struct step has_it_not[] = {
		PUT_GONE,
		{ HEAD, .status = 404 },
		{ PUT, .status = 200 },
		{ 0 },
	};
	static const struct step is_still_away[] = {
		PUT_GONE,
		{ HEAD, .err = -ETIMEDOUT },
		/* Perhaps only HEAD has no response. */
		{ HEAD, .err = -ETIMEDOUT },
		PUT_GONE,
		{ HEAD, .status = 200, .same = true },
		{ 0 },
	};
	static const struct step was_a_gateway[] = {
		{ PUT, .status = 504 },
		{ HEAD, .status = 200, .same = true },
		{ 0 },
	};
	static const struct step never_got_it[] = {
		{ PUT, .err = -ECONNREFUSED },
		{ PUT, .status = 200 },
		{ 0 },
	};

	play_script(has_it);
	expect(-ETIMEDOUT);
	expect(0);
	expect(0);
	expect_end();
	play_script(has_it_not);
	expect(-ETIMEDOUT);
	expect(0);
	expect_end();
	play_script(is_still_away);
	for (int i = 0; i < 3; i++)
		expect(-ETIMEDOUT);
	expect(0);
	expect_end();
	play_script(was_a_gateway);
	expect(-EAGAIN);
	expect(0);
	expect_end();
	play_script(never_got_it);
	expect(-ECONNREFUSED);
	expect(0);
	expect_end();
}
END_TEST

/* From a spool: the process may have been killed after it sent the report, and before the response. */
START_TEST(asks_first_for_an_earlier_process)
{
	static const struct step steps[] = {
		{ HEAD, .status = 404 },
		{ PUT, .status = 200 },
		{ HEAD, .status = 200, .same = true },
		{ PUT, .status = 200 }, /* one of this process's own */
		{ PUT, .status = 200 },
		{ 0 },
	};

	play_script(steps);
	for (int i = 0; i < 2; i++)
		expect_of(999999999000, "{}", 0);
	expect_of(1000000000000, "{}", 0);
	expect_of(999999999000, NULL, 0);
	expect_end();
}
END_TEST

static const struct {
	long status;
	const char *body;
} ignorant[] = {
	{ 501, "<Code>NotImplemented</Code>" },
	{ 400, "<Code>InvalidArgument</Code>" },
	{ 400, "<Code>NotImplemented</Code>" },
	{ 400, "" },
};

START_TEST(does_without_the_condition)
{
	const struct step steps[] = {
		{ PUT, .status = ignorant[_i].status, .body = ignorant[_i].body },
		{ PUT, .unconditional = true, .status = 200 },
		{ PUT, .unconditional = true, .status = 200 },
		{ 0 },
	};

	play_script(steps);
	expect(0);
	expect(0);
	expect_end();
}
END_TEST

/* Another error: not because of the condition. */
START_TEST(remembers_only_what_has_helped)
{
	static const struct step steps[] = {
		{ PUT, .status = 400 },
		{ PUT, .unconditional = true, .status = 400 },
		{ PUT, .status = 200 },
		{ 0 },
	};

	play_script(steps);
	expect(-EACCES);
	expect(0);
	expect_end();
}
END_TEST

#define KEY "profile_g_unknown___42_2017-07-14T02-40-00Z-0badcafe.zip"

START_TEST(follows_for_one_request)
{
	static const struct step steps[] = {
		{ PUT, .url = "//store.example/bucket/", .status = 307,
		  .location = "https://node7.store.example:1/bucket/" KEY },
		{ PUT, .url = "//node7.store.example:1/bucket/", .status = 200 },
		{ PUT, .url = "//store.example/bucket/", .status = 200 },
		{ 0 },
	};

	play_script(steps);
	expect(0);
	expect(0);
	expect_end();
}
END_TEST

/* And back to the setting, if that stops working. */
START_TEST(follows_for_good)
{
	static const struct step steps[] = {
		{ PUT, .url = "//store.example/bucket/", .status = 301, .region = "mars-1",
		  .location = "https://store.example:2/there/bucket/" KEY },
		{ PUT, .url = "//store.example:2/there/bucket/", .status = 200 },
		{ PUT, .url = "//store.example:2/there/bucket/", .status = 200 },
		{ PUT, .url = "//store.example:2/there/bucket/", .err = -ECONNREFUSED },
		{ PUT, .url = "//store.example/bucket/", .status = 200 },
		{ 0 },
	};

	play_script(steps);
	expect(0);
	expect(0);
	expect(-ECONNREFUSED);
	expect(0);
	expect_end();
	ck_assert_str_eq(scope[0], "eu-west-1");
	ck_assert_str_eq(scope[1], "mars-1");
	ck_assert_str_eq(scope[4], "eu-west-1");
}
END_TEST

START_TEST(signs_for_the_region_that_is_told)
{
	static const struct step steps[] = {
		{ PUT, .url = "//store.example/bucket/", .status = 400,
		  .body = "<Code>AuthorizationHeaderMalformed</Code><Region>mars-1</Region>" },
		{ PUT, .url = "//store.example/bucket/", .status = 200 },
		{ PUT, .url = "//store.example/bucket/", .status = 200 },
		{ 0 },
	};

	play_script(steps);
	expect(0);
	expect(0);
	expect_end();
	ck_assert_str_eq(scope[1], "mars-1");
	ck_assert_str_eq(scope[2], "mars-1");
}
END_TEST

static const char *const strange[] = {
	"https://evil.example/bucket/" KEY,
	"http://store.example/bucket/" KEY,
	"https://store.example.evil/bucket/" KEY,
	"https://user:word@store.example/bucket/" KEY "?word",
};

START_TEST(goes_to_no_strange_host)
{
	const struct step steps[] = {
		{ PUT, .status = 307, .location = strange[_i] },
		{ 0 },
	};

	play_script(steps);
	expect(-EACCES);
	expect_end();
	ck_assert(is_logged("answers 307"));
	ck_assert(is_logged("it names http"));
	ck_assert(!is_logged("word"));
}
END_TEST

START_TEST(goes_round_no_circle)
{
	static const struct step steps[] = {
		{ PUT, .status = 307, .location = "https://store.example:1/bucket/" KEY },
		{ PUT, .status = 307, .location = "https://store.example:2/bucket/" KEY },
		{ PUT, .status = 307, .location = "https://store.example:1/bucket/" KEY },
		{ PUT, .status = 307, .location = "https://store.example:2/bucket/" KEY },
		{ PUT, .status = 307, .location = "https://store.example:1/bucket/" KEY },
		{ 0 },
	};

	play_script(steps);
	expect(-EACCES);
	expect_end();
}
END_TEST

START_TEST(amazon_is_followed_to_the_region)
{
	static const struct step steps[] = {
		{ PUT, .url = "//bucket.s3.eu-west-1.amazonaws.com/", .status = 301,
		  .region = "us-west-2",
		  .body = "<Code>PermanentRedirect</"
			  "Code><Endpoint>bucket.s3.us-west-2.amazonaws.com"
			  "</Endpoint>" },
		{ PUT, .url = "//bucket.s3.us-west-2.amazonaws.com/", .status = 200 },
		{ PUT, .url = "//bucket.s3.us-west-2.amazonaws.com/", .status = 307,
		  .location = "https://bucket.s3-eu-north-1.amazonaws.com/" KEY },
		{ PUT, .url = "//bucket.s3-eu-north-1.amazonaws.com/", .status = 400,
		  .body = "<Code>AuthorizationHeaderMalformed</Code><Region>eu-north-1</Region>" },
		{ PUT, .url = "//bucket.s3.eu-north-1.amazonaws.com/", .status = 200 },
		{ 0 },
	};

	config.s3_endpoint = NULL;
	play_script(steps);
	expect(0);
	expect(0);
	expect_end();
	ck_assert_str_eq(scope[1], "us-west-2");
	ck_assert_str_eq(scope[4], "eu-north-1");
}
END_TEST

static const struct {
	const char *body, *words;
	long status;
	int err;
} refusals[] = {
	{ "<Code>KeyTooLongError</Code>", "the report's key is too long", 400, -EBADMSG },
	{ "<Code>EntityTooLarge</Code>", "the report is too large", 400, -EBADMSG },
	{ "<Code>NoSuchBucket</Code>", "see ASPROF_AGENT_S3_BUCKET", 404, -EACCES },
	{ "<Code>AccessDenied</Code>", "s3:PutObject", 403, -EACCES },
	{ "", "the report is too large", 413, -EBADMSG },
	{ "", "ASPROF_AGENT_S3_ENDPOINT", 307, -EACCES },
};

START_TEST(says_what_can_be_done)
{
	const struct step steps[] = {
		{ PUT, .status = refusals[_i].status, .body = refusals[_i].body },
		{ 0 },
	};

	play_script(steps);
	expect(refusals[_i].err);
	ck_assert(is_logged(refusals[_i].words));
}
END_TEST

static const struct {
	size_t prefix, group;
	const char *words;
} long_names[] = {
	{ 1000, 10, "shorten ASPROF_AGENT_S3_PREFIX (1000 bytes)" },
	{ 10, 1000, "shorten ASPROF_AGENT_PROFILING_GROUP (1000 bytes)" },
};

/* No request is necessary. */
START_TEST(says_what_makes_a_name_too_long)
{
	static const struct step none[] = { { 0 } };
	char prefix[1100], group[1100];

	snprintf(prefix, sizeof(prefix), "%0*d", (int)long_names[_i].prefix, 0);
	snprintf(group, sizeof(group), "%0*d", (int)long_names[_i].group, 0);
	config.s3_prefix = prefix;
	config.profiling_group = group;
	play_script(none);
	expect(-EBADMSG);
	expect(-EBADMSG);
	ck_assert(is_logged(long_names[_i].words));
	ck_assert(!is_logged("too large"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("s3_bucket");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, another_name_where_it_is_taken);
	tcase_add_test(tcase, its_own_name_is_not_taken);
	tcase_add_test(tcase, a_name_that_one_may_not_look_at);
	tcase_add_loop_test(tcase, a_store_that_has_no_head, 0,
			    sizeof(head_failures) / sizeof(head_failures[0]));
	tcase_add_test(tcase, a_doubt_is_remembered_with_its_report);
	tcase_add_test(tcase, one_name_where_a_gateway_hides_the_store);
	tcase_add_test(tcase, a_busy_store_is_not_asked);
	tcase_add_test(tcase, one_name_for_what_a_killed_process_has_sent);
	tcase_add_test(tcase, refused_heads_are_said_once);
	tcase_add_test(tcase, names_are_not_tried_for_ever);
	tcase_add_test(tcase, asks_before_it_sends_again);
	tcase_add_test(tcase, asks_first_for_an_earlier_process);
	tcase_add_loop_test(tcase, does_without_the_condition, 0,
			    sizeof(ignorant) / sizeof(ignorant[0]));
	tcase_add_test(tcase, remembers_only_what_has_helped);
	tcase_add_test(tcase, follows_for_one_request);
	tcase_add_test(tcase, follows_for_good);
	tcase_add_test(tcase, signs_for_the_region_that_is_told);
	tcase_add_loop_test(tcase, goes_to_no_strange_host, 0,
			    sizeof(strange) / sizeof(strange[0]));
	tcase_add_test(tcase, goes_round_no_circle);
	tcase_add_test(tcase, amazon_is_followed_to_the_region);
	tcase_add_loop_test(tcase, says_what_can_be_done, 0,
			    sizeof(refusals) / sizeof(refusals[0]));
	tcase_add_loop_test(tcase, says_what_makes_a_name_too_long, 0,
			    sizeof(long_names) / sizeof(long_names[0]));
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
