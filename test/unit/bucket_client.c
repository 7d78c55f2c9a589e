/* decoder/bucket/bucket_client.c: a bucket is listed page by page, and objects arrive complete,
 * from a store that the test plays by a script. */
#include "decoder/bucket/bucket_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/output/message.h"
#include "test/fixtures/suite.h"

#define STEPS 16

/* The expected requests, in order, and the responses. */
struct step {
	const char *url;   /* a part of it */
	const char *range; /* the value of that header; NULL: it is missing */
	long status;       /* 0: none, but ERR */
	int err;           /* after BODY */
	const char *body, *region, *sha256;
};

static const struct step *script;
static size_t at;
static uint64_t pauses;
static atomic_bool stop;
static struct bucket_client *client;
static struct objects objects;
static char scope[64], said_path[] = "/tmp/asprof-said-XXXXXX";

static int64_t tell_now(void)
{
	return 1000000000;
}

static void pause_not(uint64_t ns, const atomic_bool *stopping)
{
	ck_assert_ptr_eq(stopping, &stop);
	ck_assert_uint_le(ns, 30000000000u);
	pauses++;
}

static const char *header(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++)
		if (!strcmp(request->headers[i].name, name))
			return request->headers[i].value;
	return NULL;
}

static int play(struct http *http, const struct http_request *request,
		struct http_response *response)
{
	const struct step *step = &script[at];
	const char *range = header(request, "range");
	char url[4096];

	(void)http;
	snprintf(url, sizeof(url), "%.*s", (int)request->url.length,
		 (const char *)request->url.data);
	ck_assert_msg(step->url, "asked too often: %s", url);
	ck_assert_str_eq(request->method, "GET");
	ck_assert_msg(strstr(url, step->url), "%s", url);
	ck_assert_int_eq(range != NULL, step->range != NULL);
	ck_assert_int_eq(header(request, "if-match") != NULL, step->range != NULL);
	if (range)
		ck_assert_str_eq(range, step->range);
	ck_assert_int_eq(sscanf(strstr(header(request, "authorization"), "Credential="),
				"%*[^/]/%*[^/]/%63[^/]", scope),
			 1);
	at++;
	response->status = step->status;
	snprintf(response->region, sizeof(response->region), "%s",
		 step->region ? step->region : "");
	snprintf(response->sha256, sizeof(response->sha256), "%s",
		 step->sha256 ? step->sha256 : "");
	if (step->body && request->take && (step->status == 200 || step->status == 206)) {
		/* In two pieces. */
		size_t length = strlen(step->body), half = length / 2;

		if (request->take(request->take_arg, step->status, step->body, half) ||
		    request->take(request->take_arg, step->status, step->body + half,
				  length - half))
			return -EFBIG;
	} else if (step->body) {
		ck_assert_int_eq(buf_append_string(&response->body, step->body), 0);
	}
	return step->err;
}

static void close_http(struct http *http)
{
	(void)http;
}

static int send_scripted(struct http **out, const char *ca_file, const atomic_bool *stopping)
{
	static struct http http = { .send = play, .close = close_http };

	(void)ca_file;
	(void)stopping;
	*out = &http;
	return 0;
}

static char *const environment[] = { "AWS_ACCESS_KEY_ID=0123456789",
				     "AWS_SECRET_ACCESS_KEY=S",
				     "AWS_REGION=eu-west-1",
				     "ASPROF_AGENT_S3_ENDPOINT=https://store.example",
				     "ASPROF_AGENT_CPU_INTERVAL=10 parsecs",
				     NULL };

static uint64_t list_max;

static void open_client(const char *endpoint, char *const *entries)
{
	const struct bucket_client_hooks means = { .environment = entries,
						   .send = send_scripted,
						   .now = tell_now,
						   .pause = pause_not,
						   .list_max = list_max };
	struct bucket_access reach = { .endpoint = endpoint };

	ck_assert_int_eq(bucket_client_open_with(&client, "bucket", &reach, &stop, &means), 0);
}

static void play_script(const struct step *steps)
{
	script = steps;
	at = 0;
	pauses = 0;
}

static int saved_stderr = -1;

static void setup(void)
{
	int fd = mkstemp(said_path);

	ck_assert_int_ge(fd, 0);
	saved_stderr = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
	list_max = UINT64_MAX;
	open_client(NULL, environment);
}

static void teardown(void)
{
	bucket_client_close(client);
	objects_free(&objects);
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	unlink(said_path);
}

static bool is_said(const char *words)
{
	static char text[8192];
	FILE *file = fopen(said_path, "r");
	size_t n;

	ck_assert_ptr_nonnull(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	return words ? strstr(text, words) != NULL : n > 0;
}

static void expect_end(void)
{
	ck_assert_msg(!script[at].url, "only %zu were sent", at);
}

#define ROW(key)     "<Contents><Key>" key "</Key><ETag>\"e\"</ETag><Size>6</Size></Contents>"
#define LIST(inside) "<ListBucketResult>" inside "</ListBucketResult>"
#define ERROR(code)  "<Error><Code>" code "</Code><Message>Words.</Message></Error>"

static void count_names(void *arg, uint64_t names)
{
	*(uint64_t *)arg = names;
}

static int list(const char *prefix)
{
	uint64_t names = 0;
	int err = bucket_client_list(client, prefix, &objects, count_names, &names);

	if (!err)
		ck_assert_uint_ge(names, objects.count);
	return err;
}

START_TEST(lists_all_pages)
{
	static const struct step steps[] = {
		{ "https://store.example/bucket/?encoding-type=url&list-type=2&prefix=a%2Fb%20c",
		  .status = 200,
		  .body = LIST(ROW("a/b c1.zip") ROW(
			  "a/b c.txt") "<IsTruncated>true</IsTruncated>"
				       "<NextContinuationToken>x/+=</NextContinuationToken>") },
		{ "/bucket/?continuation-token=x%2F%2B%3D&encoding-type=url&list-type=2&prefix=a",
		  .status = 200, .body = LIST(ROW("a/b c2.zip")) },
		{ 0 },
	};

	play_script(steps);
	ck_assert_int_eq(list("a/b c"), 0);
	expect_end();
	ck_assert_uint_eq(objects.count, 2);
	ck_assert_str_eq(objects.list[1].key, "a/b c2.zip");
	ck_assert_str_eq(objects.list[1].etag, "\"e\"");
	ck_assert(!is_said(NULL));
}
END_TEST

START_TEST(tries_again)
{
	static const struct step steps[] = {
		{ "list-type", .err = -ETIMEDOUT },
		{ "list-type", .status = 503, .body = ERROR("SlowDown") },
		{ "list-type", .status = 500 },
		{ "list-type", .status = 200, .body = LIST("") },
		/* The store has answered, so it is retried again. */
		{ "list-type", .err = -ECONNREFUSED },
		{ "list-type", .status = 200, .body = LIST("") },
		{ 0 },
	};

	play_script(steps);
	ck_assert_int_eq(list(""), 0);
	ck_assert_uint_eq(pauses, 3);
	ck_assert_int_eq(list(""), 0);
	ck_assert_uint_eq(pauses, 4);
	expect_end();
	ck_assert(!is_said(NULL));
}
END_TEST

/* ... but not for ever, and not after permanent errors. */
static const struct {
	struct step step;
	int tries;
	const char *said;
} failures[] = {
	{ { "list", .status = 503, .body = ERROR("SlowDown") }, 6, "503 SlowDown: Words" },
	{ { "list", .err = -ECONNREFUSED }, 1, "onnection refused" },
	{ { "list", .status = 403, .body = ERROR("AccessDenied") }, 1, "s3:ListBucket" },
	{ { "list", .status = 403 }, 1, "s3:ListBucket" },
	{ { "list", .status = 404, .body = ERROR("NoSuchBucket") }, 1, "check the name" },
	{ { "list", .status = 400, .body = ERROR("ExpiredToken") }, 2, "have expired" },
	{ { "list", .status = 403, .body = ERROR("SignatureDoesNotMatch") }, 2, "its secret" },
	{ { "list", .status = 200, .body = "<html>Please log in" },
	  1,
	  "offset 6 of the list from https://store.example/bucket/: not a" },
	{ { "list", .status = 301, .body = ERROR("PermanentRedirect") }, 1, "--region" },
};

START_TEST(says_what_is_wrong)
{
	struct step steps[STEPS] = { { 0 } };

	for (int i = 0; i < failures[_i].tries; i++)
		steps[i] = failures[_i].step;
	play_script(steps);
	ck_assert_int_lt(list("p"), 0);
	expect_end();
	ck_assert_msg(is_said(failures[_i].said), "not said");
	ck_assert(is_said("asprof-agent: s3://bucket/p: "));
	ck_assert_uint_eq(objects.count, 0);
}
END_TEST

#define MORE(key, token)                                                             \
	LIST(ROW(key) "<IsTruncated>true</IsTruncated><NextContinuationToken>" token \
		      "</NextContinuationToken>")

/* A server leads in a cycle of one page, or of several after some others; or never ends. */
static const struct {
	struct step steps[STEPS];
	const char *said;
} endless[] = {
	{ { { "prefix=p", .status = 200, .body = MORE("a.zip", "x") },
	    { "token=x", .status = 200, .body = MORE("a.zip", "x") } },
	  "returns the same page of its list repeatedly" },
	{ { { "prefix=p", .status = 200, .body = MORE("a.zip", "x") },
	    { "token=x", .status = 200, .body = MORE("b.zip", "y") },
	    { "token=y", .status = 200, .body = MORE("c.zip", "z") },
	    { "token=z", .status = 200, .body = MORE("b.zip", "y") } },
	  "returns the same page of its list repeatedly" },
	{ { { "prefix=p", .status = 200, .body = MORE("a.zip", "x") },
	    { "token=x", .status = 200,
	      .body = LIST("<IsTruncated>true</IsTruncated><NextContinuationToken>y"
			   "</NextContinuationToken>") } },
	  "returns a page without an object, but claims that more follow" },
};

START_TEST(a_list_that_never_ends)
{
	char said[256];

	play_script(endless[_i].steps);
	ck_assert_int_eq(list("p"), -EBADMSG);
	expect_end();
	snprintf(said, sizeof(said), "s3://bucket/p: https://store.example/bucket/ %s",
		 endless[_i].said);
	ck_assert_msg(is_said(said), "not said: %s", said);
}
END_TEST

/* Each page has another object, and another token. */
START_TEST(a_list_that_is_too_long)
{
	static const struct step steps[] = {
		{ "prefix=p", .status = 200, .body = MORE("a.zip", "x") },
		{ "token=x", .status = 200, .body = MORE("b.zip", "y") },
		{ "token=y", .status = 200, .body = MORE("c.zip", "z") },
		{ 0 },
	};

	bucket_client_close(client);
	list_max = 2 * strlen(steps[0].body);
	open_client(NULL, environment);
	play_script(steps);
	ck_assert_int_eq(list("p"), -EBADMSG);
	expect_end();
	ck_assert(is_said("s3://bucket/p: https://store.example/bucket/ has too many objects"));
}
END_TEST

/* At Amazon, whatever region was used first. */
START_TEST(follows_the_bucket)
{
	static char *const amazon[] = { "AWS_ACCESS_KEY_ID=0123456789", "AWS_SECRET_ACCESS_KEY=S",
					"AWS_REGION=eu-west-1", NULL };
	static const struct step steps[] = {
		{ "https://bucket.s3.eu-west-1.amazonaws.com/?encoding", .status = 301,
		  .region = "us-east-2", .body = ERROR("PermanentRedirect") },
		{ "https://bucket.s3.us-east-2.amazonaws.com/?encoding", .status = 200,
		  .body = LIST(ROW("a.zip")) },
		{ "https://bucket.s3.us-east-2.amazonaws.com/a.zip", .status = 200,
		  .body = "abcdef" },
		{ 0 },
	};
	struct bucket_client *second;
	int fd = memfd_create("object", MFD_CLOEXEC);

	bucket_client_close(client);
	open_client(NULL, amazon);
	play_script(steps);
	ck_assert_int_eq(list(""), 0);
	ck_assert_str_eq(scope, "us-east-2");
	ck_assert_str_eq(bucket_client_base(client), "https://bucket.s3.eu-west-1.amazonaws.com/");
	ck_assert_int_eq(bucket_client_clone(&second, client), 0);
	ck_assert_int_eq(bucket_client_fetch(second, &objects.list[0], fd), 0);
	bucket_client_close(second);
	close(fd);
	expect_end();
}
END_TEST

START_TEST(switches_come_first)
{
	static const struct step steps[] = {
		{ "http://other.example:9000/bucket/?", .status = 200, .body = LIST("") },
		{ 0 },
	};

	bucket_client_close(client);
	open_client("http://other.example:9000", environment);
	play_script(steps);
	ck_assert_int_eq(list(""), 0);
	expect_end();
}
END_TEST

/* --- objects ---------------------------------------------------------------------------------- */

#define SHA256 "bef57ec7f53a6d40beb640a780a639c83bc29ac8a9816f1fc6c5c6dcd93c4721" /* of "abcdef" */

static const struct {
	struct step steps[4];
	const char *etag;
	int err;
	const char *said;
	unsigned int pauses;
} gets[] = {
	{ { { "/a.zip", .status = 200, .body = "abcdef", .sha256 = SHA256 } },
	  "\"e\"",
	  0,
	  NULL,
	  0 },
	{ { { "/a.zip", .status = 200, .body = "abcdef" } }, "\"e\"", 0, NULL, 0 },
	/* Broken off in the middle: only the rest is requested. */
	{ { { "/a.zip", .status = 200, .body = "abcd", .err = -EIO },
	    { "/a.zip", "bytes=4-", .status = 206, .body = "ef", .sha256 = SHA256 } },
	  "\"e\"",
	  0,
	  NULL,
	  0 },
	/* ... or the whole object, if the store does not support that, or its ETag is unknown. */
	{ { { "/a.zip", .status = 200, .body = "abcd", .err = -EIO },
	    { "/a.zip", "bytes=4-", .status = 200, .body = "abcdef", .sha256 = SHA256 } },
	  "\"e\"",
	  0,
	  NULL,
	  0 },
	{ { { "/a.zip", .status = 200, .body = "abcd", .err = -EIO },
	    { "/a.zip", .status = 200, .body = "abcdef", .sha256 = SHA256 } },
	  "",
	  0,
	  NULL,
	  0 },
	/* All of it came before the connection broke. */
	{ { { "/a.zip", .status = 200, .body = "abcdef", .err = -ETIMEDOUT },
	    { "/a.zip", .status = 200, .body = "abcdef" } },
	  "\"e\"",
	  0,
	  NULL,
	  0 },
	/* After a response without data, there is a pause. */
	{ { { "/a.zip", .status = 200, .body = "abcd", .err = -EIO },
	    { "/a.zip", "bytes=4-", .status = 206, .body = "", .err = -EIO },
	    { "/a.zip", "bytes=4-", .status = 206, .body = "ef" } },
	  "\"e\"",
	  0,
	  NULL,
	  1 },
	/* One corrupted response. */
	{ { { "/a.zip", .status = 200, .body = "abcdeF", .sha256 = SHA256 },
	    { "/a.zip", .status = 200, .body = "abcdef", .sha256 = SHA256 } },
	  "\"e\"",
	  0,
	  NULL,
	  1 },
	{ { { "/a.zip", .status = 200, .body = "abcdefg" } },
	  "\"e\"",
	  -ESTALE,
	  "its size has changed",
	  0 },
	{ { { "/a.zip", .status = 200, .body = "abc" } },
	  "\"e\"",
	  -ESTALE,
	  "its size has changed",
	  0 },
	{ { { "/a.zip", .status = 404, .body = ERROR("NoSuchKey") } },
	  "\"e\"",
	  -ENOENT,
	  "it was deleted",
	  0 },
	{ { { "/a.zip", .status = 403, .body = ERROR("AccessDenied") } },
	  "\"e\"",
	  -EACCES,
	  "s3:GetObject",
	  0 },
	{ { { "/a.zip", .status = 403, .body = ERROR("InvalidObjectState") } },
	  "\"e\"",
	  -ENOENT,
	  "must be restored",
	  0 },
	{ { { "/a.zip", .status = 200, .body = "abcd", .err = -EIO },
	    { "/a.zip", "bytes=4-", .status = 412, .body = ERROR("PreconditionFailed") } },
	  "\"e\"",
	  -ENOENT,
	  "it was replaced",
	  0 },
	{ { { "/a.zip", .err = -EPROTO } }, "\"e\"", -EPROTO, "s3://bucket/a.zip: ", 0 },
	{ { { "/a.zip", .err = -ECANCELED } }, "\"e\"", -ECANCELED, NULL, 0 },
};

START_TEST(objects_come_whole)
{
	const struct object object = { .key = "a.zip", .etag = (char *)gets[_i].etag, .bytes = 6 };
	int fd = memfd_create("object", MFD_CLOEXEC);
	char content[8] = "";

	play_script(gets[_i].steps);
	ck_assert_int_eq(bucket_client_fetch(client, &object, fd), gets[_i].err);
	expect_end();
	ck_assert_uint_eq(pauses, gets[_i].pauses);
	ck_assert_msg(gets[_i].said ? is_said(gets[_i].said) : !is_said(NULL), "the message");
	if (!gets[_i].err) {
		ck_assert_int_eq(pread(fd, content, sizeof(content), 0), 6);
		ck_assert_str_eq(content, "abcdef");
	}
	close(fd);
}
END_TEST

START_TEST(without_credentials)
{
	static char *const nobody[] = { "AWS_EC2_METADATA_DISABLED=true",
					"ASPROF_AGENT_S3_ENDPOINT=https://store.example", NULL };
	static const struct step steps[] = { { 0 } };

	bucket_client_close(client);
	open_client(NULL, nobody);
	play_script(steps);
	ck_assert_int_lt(list("p"), 0);
	ck_assert(is_said("asprof-agent: s3://bucket/p: no AWS credentials"));
	ck_assert_uint_eq(pauses, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("bucket client");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, lists_all_pages);
	tcase_add_test(tcase, tries_again);
	tcase_add_loop_test(tcase, says_what_is_wrong, 0, sizeof(failures) / sizeof(failures[0]));
	tcase_add_loop_test(tcase, a_list_that_never_ends, 0, sizeof(endless) / sizeof(endless[0]));
	tcase_add_test(tcase, a_list_that_is_too_long);
	tcase_add_test(tcase, follows_the_bucket);
	tcase_add_test(tcase, switches_come_first);
	tcase_add_loop_test(tcase, objects_come_whole, 0, sizeof(gets) / sizeof(gets[0]));
	tcase_add_test(tcase, without_credentials);
	return suite_run(tcase);
}
