/* One request to a live endpoint, and its answer. */
#include "decoder/live/live_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "decoder/live/live_endpoint.h"
#include "decoder/output/message.h"

#define PATIENCE_SECONDS 30

static int request_send(int fd, const struct buf *request)
{
	for (size_t sent = 0; sent < request->length;) {
		ssize_t n = send(fd, request->data + sent, request->length - sent, MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		sent += (size_t)n;
	}
	return 0;
}

/* Up to the end that the other side makes. */
static int answer_receive(int fd, struct buf *answer)
{
	uint8_t data[16384];
	ssize_t n;
	int err = 0;

	while (!err && (n = recv(fd, data, sizeof(data), 0)) > 0)
		err = buf_append(answer, data, (size_t)n);
	if (!err && n < 0)
		err = errno == EAGAIN ? -ETIMEDOUT : -errno;
	return err;
}

static int request_format(struct buf *request, const char *method, const char *path,
			  const char *body)
{
	const char *token = live_endpoint_token();
	int err =
		buf_printf(request, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n",
			   method, path, strlen(body));

	if (!err && token)
		err = buf_printf(request, "Authorization: Bearer %s\r\n", token);
	return err ? err : buf_printf(request, "Connection: close\r\n\r\n%s", body);
}

/* The status of ANSWER, and where its body begins; 0 where it is none. */
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

static int request_exchange(int fd, const char *method, const char *path, const char *body,
			    uint64_t wait_ns, struct buf *answer)
{
	struct timeval patience = { .tv_sec = PATIENCE_SECONDS + (time_t)(wait_ns / 1000000000u) };
	struct buf request = BUF_INIT(65536);
	int err;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	err = request_format(&request, method, path, body);
	if (!err)
		err = request_send(fd, &request);
	buf_free(&request);
	return err ? err : answer_receive(fd, answer);
}

int live_request_send(pid_t pid, const char *method, const char *path, const char *body,
		      uint64_t wait_ns, struct buf *out, bool quiet)
{
	struct buf answer = BUF_INIT(LIVE_ANSWER_MAX);
	char problem[FIND_PROBLEM_MAX];
	int fd = find_connect(pid, problem), err = fd, status;
	size_t at = 0;

	if (fd >= 0) {
		err = request_exchange(fd, method, path, body, wait_ns, &answer);
		close(fd);
		status = err ? 0 : answer_read_head(&answer, &at);
		if (err)
			snprintf(problem, sizeof(problem), "process %d: no answer: %s", pid,
				 strerror(-err));
		else if (!status)
			snprintf(problem, sizeof(problem),
				 "process %d: it does not answer as a live endpoint does", pid);
		else if (status != 200)
			snprintf(problem, sizeof(problem), "process %d: %.*s", pid,
				 (int)strcspn((char *)answer.data + at, "\n"),
				 (char *)answer.data + at);
		if (!err && status != 200)
			err = status ? -EREMOTEIO : -EPROTO;
	}
	if (!err)
		err = buf_append(out, answer.data + at, answer.length - at);
	else if (quiet)
		buf_append_string(out, problem);
	else
		say("%s", problem);
	buf_free(&answer);
	return err;
}
