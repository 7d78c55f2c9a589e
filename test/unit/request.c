/* endpoint/request.c: a request is read in pieces of any size, within its limits. Data that is not
 * HTTP is refused. */
#include "endpoint/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/fixtures/suite.h"

static struct request request;

/* In pieces of STEP bytes, until there is a result. */
static int take(const char *text, size_t length, size_t step)
{
	int got = 0;

	request_init(&request);
	for (size_t i = 0; i < length && !got; i += step)
		got = request_parse(&request, text + i, length - i < step ? length - i : step);
	return got;
}

static int take_text(const char *text, size_t step)
{
	return take(text, strlen(text), step);
}

START_TEST(is_read_in_pieces)
{
	static const char text[] = "POST /options?a=1 HTTP/1.1\r\nHost: localhost\r\n"
				   "authorization:  Bearer s3cret \r\nAccept: text/plain\r\n"
				   "X-Long: 0123456789012345678901234567890123456789\r\n"
				   "Content-Length: 8\r\n\r\nCPU=10ms";

	for (size_t step = 1; step <= sizeof(text); step++) {
		ck_assert_int_eq(take_text(text, step), 1);
		ck_assert_int_eq(request.method, REQUEST_POST);
		ck_assert_str_eq(request.target, "/options");
		ck_assert_str_eq(request.query, "a=1");
		ck_assert_str_eq(request.host, "localhost");
		ck_assert_str_eq(request.authorization, "Bearer s3cret");
		ck_assert_str_eq(request.accept, "text/plain");
		ck_assert(!request.has_origin);
		ck_assert_str_eq(request.body, "CPU=10ms");
	}
}
END_TEST

static const struct {
	const char *text;
	int got;
	enum request_method method;
	const char *target;
} cases[] = {
	{ "GET / HTTP/1.1\r\n\r\n", 1, REQUEST_GET, "/" },
	{ "GET / HTTP/1.0\r\n\r\n", 1, REQUEST_GET, "/" },
	{ "HEAD /status HTTP/1.1\r\nOrigin: http://e\r\n\r\n", 1, REQUEST_HEAD, "/status" },
	{ "DELETE / HTTP/1.1\r\n\r\n", 1, REQUEST_OTHER, "/" },
	{ "GET / HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", 1, REQUEST_GET, "/" },
	{ "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 1,
	  REQUEST_POST, "/" },
	{ "GET / HTTP/1.1\r\nHost: h\r\n", 0, REQUEST_GET, "/" },
	{ "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\na", 0, REQUEST_GET, "/" },
	{ "", 0, REQUEST_GET, "" },
	{ "\x16\x03\x01\x02", -EBADMSG, REQUEST_GET, "" },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", -EBADMSG, REQUEST_GET, "*" },
	{ "GET / HTTP/1.1\r\nno colon\r\n\r\n", -EBADMSG, REQUEST_GET, "/" },
	{ "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", -EBADMSG,
	  REQUEST_GET, "/" },
	{ "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", -EBADMSG, REQUEST_GET, "/" },
};

START_TEST(is_http_or_not)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(take_text(cases[i].text, 1) == cases[i].got, "case %zu", i);
		if (cases[i].got != 1)
			continue;
		ck_assert_msg(request.method == cases[i].method, "case %zu", i);
		ck_assert_str_eq(request.target, cases[i].target);
	}
	take_text(cases[2].text, 100);
	ck_assert(request.has_origin);
}
END_TEST

static const struct {
	const char *headers;
	int got;
} twice[] = {
	{ "Host: a\r\nHost: b\r\n", -EEXIST },
	{ "Host: a\r\nAccept: b\r\nhOST: a\r\n", -EEXIST },
	{ "Host:\r\nHost: b\r\n", -EEXIST },
	{ "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", -EEXIST },
	{ "Origin: http://a\r\nOrigin: null\r\n", -EEXIST },
	{ "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n", -EEXIST },
	{ "Content-Length: 0\r\nContent-Length: 0\r\n", -EEXIST },
	{ "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", -EEXIST },
	{ "Accept: a\r\nAccept: b\r\nX: a\r\nX: b\r\n", 1 },
};

START_TEST(a_header_that_decides_who_asks_appears_once)
{
	char text[256];

	for (size_t i = 0; i < sizeof(twice) / sizeof(twice[0]); i++) {
		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n", twice[i].headers);
		ck_assert_msg(take_text(text, 1) == twice[i].got, "case %zu", i);
	}
	/* A trailer does not replace a header. */
	ck_assert_int_eq(
		take_text("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
			  "0\r\nHost: b\r\n\r\n",
			  1),
		-EEXIST);
}
END_TEST

START_TEST(a_browser_is_recognized)
{
	ck_assert_int_eq(take_text("GET / HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\n\r\n", 1), 1);
	ck_assert(request.has_fetch_site);
	ck_assert_str_eq(request.fetch_site, "cross-site");
	ck_assert_int_eq(take_text("GET / HTTP/1.1\r\nSec-Fetch-Site:\r\n\r\n", 1), 1);
	ck_assert(request.has_fetch_site);
	ck_assert_str_eq(request.fetch_site, "");
	ck_assert_int_eq(take_text("GET / HTTP/1.1\r\n\r\n", 1), 1);
	ck_assert(!request.has_fetch_site);
}
END_TEST

/* "GET /xxxx", and so on: a request whose PART is LENGTH bytes long. */
static int take_long(const char *front, size_t length, const char *back)
{
	static char text[4 * REQUEST_MAX];
	size_t at = (size_t)snprintf(text, sizeof(text), "%s", front);

	memset(text + at, 'x', length);
	strcpy(text + at + length, back);
	return take_text(text, 1000);
}

START_TEST(is_bounded)
{
	ck_assert_int_eq(take_long("GET /", REQUEST_TARGET_MAX - 1, " HTTP/1.1\r\n\r\n"), 1);
	ck_assert_int_eq(take_long("GET /", REQUEST_TARGET_MAX, " HTTP/1.1\r\n\r\n"), -EFBIG);
	ck_assert_int_eq(take_long("GET / HTTP/1.1\r\nX: ", REQUEST_MAX, "\r\n\r\n"), -EFBIG);
	ck_assert_int_eq(
		take_long("POST / HTTP/1.1\r\nContent-Length: 8192\r\n\r\n", REQUEST_BODY_MAX, ""),
		1);
	ck_assert_int_eq(take_long("POST / HTTP/1.1\r\nContent-Length: 8193\r\n\r\n",
				   REQUEST_BODY_MAX + 1, ""),
			 -EFBIG);
	/* A truncated value is not read beyond its end. */
	ck_assert_int_eq(take_long("GET / HTTP/1.1\r\nHost: ", 2 * REQUEST_VALUE_MAX, "\r\n\r\n"),
			 1);
	ck_assert_uint_eq(strlen(request.host), REQUEST_VALUE_MAX);
}
END_TEST

START_TEST(fields_are_found)
{
	char out[8];

	ck_assert_int_eq(request_find_field("a=1&seconds=2.5&b", "seconds", out, sizeof(out)), 0);
	ck_assert_str_eq(out, "2.5");
	ck_assert_int_eq(request_find_field("x&a=%41+b&", "a", out, sizeof(out)), 0);
	ck_assert_str_eq(out, "A b");
	ck_assert_int_eq(request_find_field("aa=1", "a", out, sizeof(out)), -ENOENT);
	ck_assert_int_eq(request_find_field("", "a", out, sizeof(out)), -ENOENT);
	ck_assert_int_eq(request_find_field("a=%4", "a", out, sizeof(out)), -EBADMSG);
	ck_assert_int_eq(request_find_field("a=%00", "a", out, sizeof(out)), -EBADMSG);
	ck_assert_int_eq(request_find_field("a=12345678", "a", out, sizeof(out)), -EFBIG);
}
END_TEST

START_TEST(fields_are_taken_one_by_one)
{
	const char *rest = "A=1\nB=two&C=\r\n";
	char name[8], value[8];

	ck_assert_int_eq(request_next_field(&rest, name, 8, value, 8), 0);
	ck_assert_str_eq(name, "A");
	ck_assert_int_eq(request_next_field(&rest, name, 8, value, 8), 0);
	ck_assert_str_eq(value, "two");
	ck_assert_int_eq(request_next_field(&rest, name, 8, value, 8), 0);
	ck_assert_str_eq(value, "");
	ck_assert_int_eq(request_next_field(&rest, name, 8, value, 8), -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("request");

	tcase_add_test(tcase, is_read_in_pieces);
	tcase_add_test(tcase, is_http_or_not);
	tcase_add_test(tcase, a_header_that_decides_who_asks_appears_once);
	tcase_add_test(tcase, a_browser_is_recognized);
	tcase_add_test(tcase, is_bounded);
	tcase_add_test(tcase, fields_are_found);
	tcase_add_test(tcase, fields_are_taken_one_by_one);
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
