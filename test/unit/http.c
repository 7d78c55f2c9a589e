/* upload/http/http.c and http_curl.c: what is not to be sent is not, and what is secret is not said. */
#include "upload/http/http.h"

#include <errno.h>
#include <string.h>

#include "test/fixtures/suite.h"
#include "upload/http/http_curl.h"

static const struct {
	const char *value;
	int err;
} values[] = {
	{ "plain", 0 },         { "", 0 },
	{ "a\tb \xc3\xa4", 0 }, { "a\r\nx-other: b", -EINVAL },
	{ "a\nb", -EINVAL },    { "a\rb", -EINVAL },
	{ "a\033b", -EINVAL },  { "a\177", -EINVAL },
};

START_TEST(a_value_is_one_header)
{
	struct http_request request = HTTP_REQUEST_INIT("GET", 1, 1);

	ck_assert_int_eq(http_request_header(&request, "x", "%s", values[_i].value),
			 values[_i].err);
	ck_assert_uint_eq(request.header_count, values[_i].err ? 0 : 1);
	http_request_free(&request);
}
END_TEST

/* None of these gets as far as a connection. */
static const struct {
	const char *url, *proxy;
} bad[] = {
	{ "http://user:word@127.0.0.1:1/", NULL },
	{ "http://127.0.0.1:1/a b?token=word", NULL },
	{ "ftp://127.0.0.1:1/word", NULL },
	{ "file:///word", NULL },
	{ "http://127.0.0.1:1/", "socks9://user:word@127.0.0.1:1" },
	{ "http://127.0.0.1:1/", "http://user:word@127.0.0.1:1x/?token=word" },
	{ "http://127.0.0.1:1/?token=word", "http://user:word@127.0.0.1:1/?token=word" },
};

START_TEST(no_secret_of_a_url_is_said)
{
	struct http_request request = HTTP_REQUEST_INIT("GET", 5000, 5000);
	struct http_response response = HTTP_RESPONSE_INIT;
	struct http *http;

	ck_assert_int_eq(http_curl_open(&http, NULL, NULL), 0);
	ck_assert_int_eq(buf_append_string(&request.url, bad[_i].url), 0);
	request.proxy = bad[_i].proxy;
	ck_assert_int_lt(http->send(http, &request, &response), 0);
	ck_assert_msg(!strstr(response.problem, "word"), "%s", response.problem);
	http_response_free(&response);
	http_request_free(&request);
	http->close(http);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("http");

	tcase_add_loop_test(tcase, a_value_is_one_header, 0, sizeof(values) / sizeof(values[0]));
	tcase_add_loop_test(tcase, no_secret_of_a_url_is_said, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_set_timeout(tcase, 60);
	return suite_run(tcase);
}
