/* upload/http/http.c and http_curl.c: forbidden requests are not sent, and secrets are not printed. */
#include "upload/http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/fixtures/suite.h"
#include "upload/http/http_curl.h"
#include "upload/http/low_speed.h"

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

/* None of these opens a connection. */
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

/* The server's action for each request: read it and answer, or close without an answer, or with a part of it; or
 * close while it is still being sent. */
enum deed { ANSWER = 1, GO, GO_EARLY, HALF, CONTINUE };

static struct {
	int listener;
	const enum deed *deeds; /* 0 after the last */
	char url[64];
	pthread_t thread;
} server;

/* Read a request's head, and its body if WHOLE. False if the connection has ended. */
static bool read_request(int fd, bool whole)
{
	char text[4096];
	size_t length = 0, body = 0;
	char *end = NULL, *told;

	while (!end) {
		ssize_t n = read(fd, text + length, sizeof(text) - 1 - length);

		if (n <= 0)
			return false;
		length += (size_t)n;
		text[length] = '\0';
		end = strstr(text, "\r\n\r\n");
	}
	told = strstr(text, "Content-Length: ");
	if (told)
		body = strtoul(told + strlen("Content-Length: "), NULL, 10);
	for (length -= (size_t)(end + 4 - text); whole && length < body;) {
		ssize_t n = read(fd, text, sizeof(text));

		if (n <= 0)
			return false;
		length += (size_t)n;
	}
	return true;
}

static void *serve(void *unused)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	static const char more[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const enum deed *deed = server.deeds;
	int fd;

	while (*deed && (fd = accept(server.listener, NULL, NULL)) >= 0) {
		while (*deed && read_request(fd, *deed != GO_EARLY)) {
			size_t length = *deed == ANSWER ? sizeof(answer) - 1 : sizeof(answer) - 2;

			if (*deed == ANSWER || *deed == HALF)
				ck_assert_int_gt(write(fd, answer, length), 0);
			if (*deed == CONTINUE)
				ck_assert_int_gt(write(fd, more, sizeof(more) - 1), 0);
			if (*deed++ != ANSWER)
				break;
		}
		close(fd);
	}
	return unused;
}

static void server_begin(const enum deed *deeds)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);

	server.deeds = deeds;
	server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(server.listener, (struct sockaddr *)&address, length), 0);
	ck_assert_int_eq(listen(server.listener, 8), 0);
	ck_assert_int_eq(getsockname(server.listener, (struct sockaddr *)&address, &length), 0);
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%d/", ntohs(address.sin_port));
	ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

/* More than the kernel buffers for a reader. */
#define LARGE (32u << 20)

static const struct {
	enum deed deeds[4];
	struct {
		size_t body;
		bool fails, unanswered;
	} sent[2];
} lost[] = {
	{ { ANSWER, ANSWER }, { { 9, false, false }, { 9, false, false } } },
	{ { GO }, { { 9, true, true } } },
	{ { GO_EARLY }, { { LARGE, true, false } } },
	{ { HALF }, { { 9, true, false } } },    /* its status came */
	{ { CONTINUE }, { { 9, true, true } } }, /* that is no status */
	/* curl repeats it once by itself, because the connection was an old one. */
	{ { ANSWER, GO, ANSWER }, { { 9, false, false }, { 9, false, true } } },
	{ { ANSWER, GO, GO }, { { 9, false, false }, { 9, true, true } } },
};

START_TEST(knows_what_was_left_unanswered)
{
	char *body = calloc(1, LARGE);
	struct http *http;

	server_begin(lost[_i].deeds);
	ck_assert_int_eq(http_curl_open(&http, NULL, NULL), 0);
	for (size_t i = 0; i < 2 && lost[_i].sent[i].body; i++) {
		struct http_request request = HTTP_REQUEST_INIT("POST", 5000, 60000);
		struct http_response response = HTTP_RESPONSE_INIT;

		ck_assert_int_eq(buf_append_string(&request.url, server.url), 0);
		request.body = body;
		request.body_length = lost[_i].sent[i].body;
		request.keep_connection = true;
		ck_assert_int_eq(!!http->send(http, &request, &response), lost[_i].sent[i].fails);
		ck_assert_int_eq(response.unanswered, lost[_i].sent[i].unanswered);
		http_response_free(&response);
		http_request_free(&request);
	}
	http->close(http);
	pthread_join(server.thread, NULL);
	close(server.listener);
	free(body);
}
END_TEST

/* The state after some seconds, since the last one, and the result. */
static const struct {
	struct {
		unsigned int seconds, sent, to_send, received;
		bool is_slow;
	} steps[5];
} transfers[] = {
	{ { { 0, 0, 0, 0, false }, { 60, 0, 0, 0, false } } }, /* no connection yet */
	{ { { 1, 0, 9, 0, false }, { 19, 0, 9, 0, false }, { 1, 0, 9, 0, true } } },
	{ { { 1, 0, 90000, 0, false },
	    { 19, 10239, 90000, 0, false },
	    { 1, 10239, 90000, 0, true } } },
	{ { { 1, 0, 90000, 0, false },
	    { 19, 10240, 90000, 0, false },
	    { 19, 10241, 90000, 0, false } } },
	/* The server works on what it has. Its response may then not stop. */
	{ { { 1, 9, 9, 0, false },
	    { 59, 9, 9, 0, false },
	    { 1, 9, 9, 5, false },
	    { 19, 9, 9, 5, false },
	    { 1, 9, 9, 5, true } } },
	{ { { 1, 5, 9, 0, false },
	    { 19, 9, 9, 0, false },
	    { 30, 9, 9, 5, false },
	    { 19, 9, 9, 5, false } } },
	/* It is sent again. */
	{ { { 1, 5000, 9000, 0, false },
	    { 19, 0, 9000, 0, false },
	    { 19, 0, 9000, 0, false },
	    { 1, 0, 9000, 0, true } } },
};

START_TEST(gives_up_bodies_that_do_not_move)
{
	struct low_speed speed = { 0 };
	uint64_t now_ns = 1000000000;

	for (size_t i = 0; i < 5 && (!i || transfers[_i].steps[i].seconds); i++) {
		now_ns += transfers[_i].steps[i].seconds * 1000000000ull;
		ck_assert_int_eq(low_speed_check(&speed, now_ns, transfers[_i].steps[i].sent,
						 transfers[_i].steps[i].to_send,
						 transfers[_i].steps[i].received),
				 transfers[_i].steps[i].is_slow);
	}
}
END_TEST

START_TEST(nothing_is_sent_where_nobody_listens)
{
	struct http_request request = HTTP_REQUEST_INIT("POST", 5000, 5000);
	struct http_response response = HTTP_RESPONSE_INIT;
	struct http *http;

	ck_assert_int_eq(http_curl_open(&http, NULL, NULL), 0);
	ck_assert_int_eq(buf_append_string(&request.url, "http://127.0.0.1:1/"), 0);
	ck_assert_int_lt(http->send(http, &request, &response), 0);
	ck_assert(!response.unanswered);
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
	tcase_add_loop_test(tcase, knows_what_was_left_unanswered, 0,
			    sizeof(lost) / sizeof(lost[0]));
	tcase_add_loop_test(tcase, gives_up_bodies_that_do_not_move, 0,
			    sizeof(transfers) / sizeof(transfers[0]));
	tcase_add_test(tcase, nothing_is_sent_where_nobody_listens);
	tcase_set_timeout(tcase, 60);
	return suite_run(tcase);
}
