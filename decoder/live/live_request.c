/* HTTP requests to live endpoints. */
#include "decoder/live/live_request.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "decoder/live/live_endpoint.h"
#include "decoder/output/message.h"

/* The first is longer than the endpoint's own timeout. The second is for processes that the user did not name. */
#define TIMEOUT_NS      30000000000u
#define SCAN_TIMEOUT_NS 10000000000u

/* Limit of an answer's headers. */
#define HEAD_MAX 65536

static bool error_is_transient(int err)
{
	return err == EAGAIN || err == EINTR;
}

static int request_send(int fd, const struct buf *text, uint64_t deadline_ns)
{
	int err = 0;

	for (size_t sent = 0; !err && sent < text->length;) {
		ssize_t n = send(fd, text->data + sent, text->length - sent, MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		else if (error_is_transient(errno))
			err = live_endpoint_poll(fd, POLLOUT, deadline_ns);
		else
			err = -errno;
	}
	return err;
}

/* Receive until the endpoint closes the connection. */
static int answer_receive(int fd, struct buf *answer, uint64_t deadline_ns)
{
	uint8_t data[16384];
	ssize_t n;
	int err = 0;

	while (!err && (n = recv(fd, data, sizeof(data), 0))) {
		if (n > 0)
			err = buf_append(answer, data, (size_t)n);
		else if (!error_is_transient(errno))
			err = -errno;
		/* Checks the deadline also for an endpoint that never stops sending. */
		if (!err)
			err = live_endpoint_poll(fd, POLLIN, deadline_ns);
	}
	return err;
}

static int request_format(struct buf *text, const char *method, const char *path, const char *body,
			  const char *token)
{
	int err = buf_printf(text, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n",
			     method, path, strlen(body));

	if (!err && token)
		err = buf_printf(text, "Authorization: Bearer %s\r\n", token);
	return err ? err : buf_printf(text, "Connection: close\r\n\r\n%s", body);
}

/* Print the headers that explain the answer. BODY is the offset of the body. */
static void answer_print_notes(const struct live_request *request, const struct buf *answer,
			       size_t body)
{
	static const char *const headers[] = { "\r\nAsprof-Agent-Note: ",
					       "\r\nAsprof-Agent-Truncated: " };

	for (size_t i = 0; i < 2 && !request->captures_problem; i++) {
		const char *words = memmem(answer->data, body, headers[i], strlen(headers[i]));

		if (!words)
			continue;
		words += strlen(headers[i]);
		message_print("process %d: %.*s", request->pid, (int)strcspn(words, "\r"), words);
	}
}

/* Returns the status of ANSWER and sets *BODY to its body's offset. Returns 0 if ANSWER is no HTTP answer. */
static int answer_read_head(struct buf *answer, size_t *body)
{
	const char *text = buf_string(answer), *end;
	int status = 0;

	end = text ? strstr(text, "\r\n\r\n") : NULL;
	if (!end || sscanf(text, "HTTP/1.%*d %3d", &status) != 1)
		return 0;
	*body = (size_t)(end + 4 - text);
	return status;
}

/* Returns the length of ANSWER's body by its head; SIZE_MAX if the head has none. BODY is the offset of the body. */
static size_t answer_body_length(const struct buf *answer, size_t body)
{
	static const char name[] = "\r\nContent-Length: ";
	const char *found = memmem(answer->data, body, name, strlen(name));

	return found ? strtoull(found + strlen(name), NULL, 10) : SIZE_MAX;
}

static int request_exchange(const struct live_request *request,
			    const struct live_connection *connection, uint64_t deadline_ns,
			    struct buf *answer)
{
	const char *token =
		connection->wants_token && !request->is_scan ? live_endpoint_token() : NULL;
	bool reads = request->read_path && connection->wants_token && !token;
	struct buf text = BUF_INIT(65536);
	int err =
		reads ? request_format(&text, "GET", request->read_path, "", NULL)
		      : request_format(&text, request->method, request->path, request->body, token);

	if (reads)
		message_print("process %d: sampled at its own intervals: without "
			      "ASPROF_AGENT_LISTEN_TOKEN its TCP address accepts no changes",
			      request->pid);

	if (!err)
		err = request_send(connection->fd, &text, deadline_ns);
	buf_free(&text);
	return err ? err : answer_receive(connection->fd, answer, deadline_ns);
}

/* Returns 0 for a complete answer with status 200, and sets *BODY to its body's offset; else -errno, with PROBLEM. */
static int answer_check(const struct live_request *request, struct buf *answer, size_t *body,
			char problem[LIVE_PROBLEM_MAX])
{
	int status = answer_read_head(answer, body);
	const char *text;
	size_t length;

	if (!answer->length) {
		snprintf(problem, LIVE_PROBLEM_MAX,
			 "process %d: no answer: it has ended, or closed the connection",
			 request->pid);
		return -EPROTO;
	}
	if (!status) {
		snprintf(problem, LIVE_PROBLEM_MAX,
			 "process %d: the answer is not that of a live endpoint", request->pid);
		return -EPROTO;
	}
	if (status != 200) {
		text = (const char *)answer->data + *body;
		snprintf(problem, LIVE_PROBLEM_MAX, "process %d: %.*s", request->pid,
			 (int)strcspn(text, "\n"), text);
		return -EREMOTEIO;
	}
	length = answer_body_length(answer, *body);
	if (length == SIZE_MAX || answer->length - *body >= length)
		return 0;
	snprintf(problem, LIVE_PROBLEM_MAX,
		 "process %d: the answer is incomplete, %zu of %zu bytes: the process has ended, "
		 "or closed the connection",
		 request->pid, answer->length - *body, length);
	return -EPROTO;
}

int live_request_send(const struct live_request *request, struct buf *out)
{
	struct buf answer = BUF_INIT(out->max + HEAD_MAX);
	uint64_t deadline_ns = clock_monotonic_ns() + request->wait_ns +
			       (request->is_scan ? SCAN_TIMEOUT_NS : TIMEOUT_NS);
	char problem[LIVE_PROBLEM_MAX];
	struct live_connection connection;
	int err = live_endpoint_connect(request->pid, deadline_ns, &connection, problem);
	size_t at = 0;

	if (!err) {
		err = request_exchange(request, &connection, deadline_ns, &answer);
		close(connection.fd);
		if (err)
			snprintf(problem, sizeof(problem), "process %d: no answer: %s",
				 request->pid, strerror(-err));
		else
			err = answer_check(request, &answer, &at, problem);
	}
	if (!err)
		answer_print_notes(request, &answer, at);
	if (!err)
		err = buf_append(out, answer.data + at, answer.length - at);
	else if (request->captures_problem)
		buf_append_string(out, problem);
	else
		message_print("%s", problem);
	buf_free(&answer);
	return err;
}

const char *live_json_text(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(item) ? item->valuestring : "";
}
