/* Server of the live endpoint: its thread, connections, and time limits.
 *
 * All sockets are non-blocking, so a slow peer costs a descriptor and some memory but delays no other peer. This thread
 * also handles the requests, one after another. Only a large profile takes long. */
#include "endpoint/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/agent/waiters.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/own_fds.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/units.h"
#include "endpoint/listener.h"
#include "endpoint/routes.h"

/* Maximum number of connections. At the limit a new one replaces a connection that has sent no complete request within
 * GRACE_NS; without such a connection, it waits in the backlog. */
#define CONNECTIONS_MAX 64
#define GRACE_NS        SECONDS(1)

/* Time limits for a complete request, and for the next bytes of a response to be accepted. */
#define REQUEST_NS  SECONDS(5)
#define RESPONSE_NS SECONDS(10)

/* Bytes of the head, or of an error's line. */
#define HEAD_MAX 4096

/* Maximum bytes of a response that does not count towards RESPONSE_MAX. */
#define SHORT_RESPONSE KIB(64)

/* Time limit for a whole response. */
#define RESPONSE_TOTAL_NS MINUTES(10)

/* Pause after accept4() has failed, as at the limit of descriptors: the connection stays in the backlog. */
#define ACCEPT_PAUSE_NS SECONDS(1)

/* How long close() waits for the thread. */
#define CLOSE_NS MS(500)

enum stage {
	READING,  /* the request is incomplete */
	WAITING,  /* for a recording */
	WRITING,  /* the response */
	DRAINING, /* the response is sent; unread data of the peer is discarded */
};

struct connection {
	int fd;
	enum stage stage;
	uint64_t until_ns; /* time limit; when WAITING: the next routes_resume(); monotonic */
	uint64_t end_ns;   /* time limit of the whole response; monotonic */
	struct request request;
	struct exchange exchange;
	struct response response;
	struct buf head;     /* has its memory from the beginning */
	size_t length, sent; /* bytes of the head and the body */
};

static struct {
	struct live *live;
	const struct config *config;
	struct listener listener;
	int wake_fd; /* an eventfd */
	struct connection *connections[CONNECTIONS_MAX];
	size_t count;
	uint64_t accept_from_ns;  /* after a failed accept4(); monotonic */
	_Atomic uint32_t running; /* 0 when the thread has ended; a futex */
	_Atomic bool is_closing;
} server = { .listener.fd = -1 };

static void connection_close(size_t i)
{
	struct connection *c = server.connections[i];

	routes_cancel(&c->exchange);
	close(c->fd);
	response_free(&c->response);
	buf_free(&c->head);
	free(c);
	server.connections[i] = server.connections[--server.count];
}

static uint64_t earlier_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* True if the response may wait to be sent: it is short, or all of them fit into RESPONSE_MAX. */
static bool response_fits(const struct connection *c)
{
	size_t bytes = c->response.body.length;

	if (bytes <= SHORT_RESPONSE)
		return true;
	for (size_t i = 0; i < server.count; i++)
		if (server.connections[i] != c)
			bytes += server.connections[i]->response.body.length;
	return bytes <= RESPONSE_MAX;
}

static void connection_begin_response(struct connection *c)
{
	if (!response_fits(c)) {
		buf_free(&c->response.body);
		response_set_text(&c->response, 503, "earlier responses have not been read yet");
	}
	c->stage = WRITING;
	c->until_ns = clock_monotonic_ns() + RESPONSE_NS;
	c->end_ns = clock_monotonic_ns() + RESPONSE_TOTAL_NS;
	response_write_head(&c->response, &c->head);
	c->length = c->head.length;
	if (c->request.method != REQUEST_HEAD)
		c->length += response_length(&c->response);
}

static void connection_handle(struct connection *c)
{
	uint64_t wait_ns = routes_handle(&c->exchange, &c->request, &c->response);

	if (!wait_ns) {
		connection_begin_response(c);
		return;
	}
	c->stage = WAITING;
	c->until_ns = clock_monotonic_ns() + wait_ns;
}

/* Read available bytes. Returns false when the connection must be closed. */
static bool connection_read(struct connection *c)
{
	char data[4096];
	ssize_t length = recv(c->fd, data, sizeof(data), MSG_DONTWAIT);
	int result;

	if (length < 0)
		return errno == EAGAIN || errno == EINTR;
	/* More data is ignored. An end of file means that the peer has closed the connection. */
	if (c->stage == WAITING || c->stage == DRAINING)
		return length > 0;
	if (!length)
		return false;
	result = request_parse(&c->request, data, (size_t)length);
	if (!result)
		return true;
	if (result > 0) {
		connection_handle(c);
		return true;
	}
	response_set_text(&c->response, result == -EFBIG ? 413 : 400,
			  result == -EFBIG    ? "the request is too large"
			  : result == -EEXIST ? "a header that may appear once appears twice"
					      : "this is not an HTTP request");
	connection_begin_response(c);
	return true;
}

/* Send as much as the socket accepts. Returns false when the connection must be closed. */
static bool connection_write(struct connection *c)
{
	const struct buf *head = &c->head;
	ssize_t length = 0;

	if (c->sent < head->length)
		length = send(c->fd, head->data + c->sent, head->length - c->sent,
			      MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (c->sent < c->length)
		length = response_send(&c->response, c->fd, c->sent - head->length);
	if (length < 0)
		return errno == EAGAIN || errno == EINTR;
	c->sent += (size_t)length;
	if (length)
		c->until_ns = earlier_ns(clock_monotonic_ns() + RESPONSE_NS, c->end_ns);
	if (c->sent < c->length)
		return true;
	/* close(2) with unread data would reset the connection, and the peer would lose the response. */
	shutdown(c->fd, SHUT_WR);
	c->stage = DRAINING;
	c->until_ns = clock_monotonic_ns() + SECONDS(1);
	return true;
}

/* Return the time from which a new connection may replace C. Each connection has GRACE_NS to send its request. */
static uint64_t connection_replaceable_ns(const struct connection *c)
{
	if (c->stage == DRAINING)
		return 0;
	return c->stage == READING ? c->until_ns - REQUEST_NS + GRACE_NS : UINT64_MAX;
}

/* Return the time from which there is a place for a new connection. Unless that is 0, it replaces connection *REPLACED. */
static uint64_t place_ns(size_t *replaced)
{
	uint64_t soonest = UINT64_MAX;

	if (server.count < CONNECTIONS_MAX)
		return 0;
	for (size_t i = 0; i < server.count; i++) {
		uint64_t ns = connection_replaceable_ns(server.connections[i]);

		if (ns < soonest) {
			soonest = ns;
			*replaced = i;
		}
	}
	return soonest ? soonest : 1;
}

/* Return the time from which a new connection can be accepted. */
static uint64_t accept_ns(void)
{
	size_t replaced;
	uint64_t ns = place_ns(&replaced);

	return ns > server.accept_from_ns ? ns : server.accept_from_ns;
}

/* Close a connection if the limit is reached. Returns false if none can be closed. */
static bool connections_make_space(void)
{
	size_t replaced = 0;
	uint64_t ns = place_ns(&replaced);

	if (ns > clock_monotonic_ns())
		return false;
	if (ns)
		connection_close(replaced);
	return true;
}

/* Returns NULL when out of memory. The answer to that must not need memory later. */
static struct connection *connection_new(void)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->head = (struct buf)BUF_INIT(HEAD_MAX);
	c->response = (struct response)RESPONSE_INIT;
	if (!buf_reserve(&c->head, HEAD_MAX) && !buf_reserve(&c->response.body, HEAD_MAX))
		return c;
	buf_free(&c->head);
	response_free(&c->response);
	free(c);
	return NULL;
}

static void connection_accept(void)
{
	const struct listener *listener = &server.listener;
	struct connection *c;
	int fd = fd_raise(accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));

	if (fd < 0) {
		if (fd != -EAGAIN && fd != -ECONNABORTED)
			server.accept_from_ns = clock_monotonic_ns() + ACCEPT_PAUSE_NS;
		return;
	}
	c = listener_admits(listener, fd) && connections_make_space() ? connection_new() : NULL;
	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->until_ns = clock_monotonic_ns() + REQUEST_NS;
	request_init(&c->request);
	c->exchange = (struct exchange)EXCHANGE_INIT;
	c->exchange.live = server.live;
	c->exchange.is_tcp = !listener->is_unix;
	c->exchange.token = listener->is_unix ? NULL : server.config->listen_token;
	server.connections[server.count++] = c;
}

/* Handle an expired time limit. Returns false when the connection must be closed. */
static bool connection_expire(struct connection *c)
{
	uint64_t wait_ns;

	if (c->stage != WAITING)
		return false;
	wait_ns = routes_resume(&c->exchange, &c->response);
	if (wait_ns)
		c->until_ns = clock_monotonic_ns() + wait_ns;
	else
		connection_begin_response(c);
	return true;
}

static short connection_events(const struct connection *c)
{
	return c->stage == WRITING ? POLLOUT : POLLIN;
}

static int poll_timeout_ms(uint64_t now)
{
	uint64_t until = privileges_due_ns(), accept = accept_ns();

	if (accept > now && accept < until)
		until = accept;
	for (size_t i = 0; i < server.count; i++)
		if (server.connections[i]->until_ns < until)
			until = server.connections[i]->until_ns;
	if (until == UINT64_MAX)
		return -1;
	return until <= now ? 0 : (int)((until - now) / MS(1) + 1);
}

static void connections_serve(const struct pollfd *polled, size_t count)
{
	uint64_t now = clock_monotonic_ns();

	/* Backwards, because connection_close() moves the last connection to the closed one. */
	for (size_t i = count; i-- && !atomic_load(&server.is_closing);) {
		struct connection *c = server.connections[i];
		bool stays_open = true;

		if (polled[i].revents)
			stays_open = c->stage == WRITING ? connection_write(c) : connection_read(c);
		if (stays_open && now >= c->until_ns && !polled[i].revents)
			stays_open = connection_expire(c);
		if (!stays_open)
			connection_close(i);
	}
}

static void server_wake(void *unused)
{
	uint64_t one = 1;

	(void)unused;
	/* A failed write means that the counter is full, so a wake is already pending. */
	if (write(server.wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* Returns false when the endpoint cannot go on: poll(2) fails while RLIMIT_NOFILE is lower than its number of entries. */
static bool server_loop_iteration(void)
{
	uint64_t wakes;
	struct pollfd polled[CONNECTIONS_MAX + 2];
	size_t count = server.count;
	uint64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < count; i++)
		polled[i] = (struct pollfd){ .fd = server.connections[i]->fd,
					     .events = connection_events(server.connections[i]) };
	/* At the limit, new connections wait in the backlog. */
	polled[count] = (struct pollfd){ .fd = accept_ns() <= now ? server.listener.fd : -1,
					 .events = POLLIN };
	polled[count + 1] = (struct pollfd){ .fd = server.wake_fd, .events = POLLIN };
	if (poll(polled, count + 2, poll_timeout_ms(now)) < 0) {
		if (errno == EINTR)
			return true;
		log_info("the live endpoint ends: %s", strerror(errno));
		return false;
	}
	if (polled[count + 1].revents && read(server.wake_fd, &wakes, sizeof(wakes)) < 0)
		return true;
	connections_serve(polled, count);
	if (polled[count].revents)
		connection_accept();
	return true;
}

static void *server_run(void *unused)
{
	(void)unused;
	waiters_add(server_wake, NULL);
	while (!atomic_load(&server.is_closing) && !privileges_follow(false) &&
	       server_loop_iteration())
		;
	/* The response to the request that has ended the agent. */
	for (size_t i = server.count; i--;)
		for (int part = 0; part < 2 && server.connections[i]->stage == WRITING; part++)
			connection_write(server.connections[i]);
	while (server.count)
		connection_close(server.count - 1);
	waiters_remove();
	listener_close(&server.listener);
	close(server.wake_fd);
	atomic_store(&server.running, 0);
	futex_wake(&server.running);
	return NULL;
}

static int server_start(void)
{
	int err = listener_open(&server.listener, server.config);

	if (err)
		return err;
	server.wake_fd = fd_raise(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	err = server.wake_fd < 0 ? server.wake_fd : 0;
	if (!err) {
		atomic_store(&server.running, 1);
		err = own_thread_start("asprof-live", server_run, NULL);
		if (!err)
			return 0;
		atomic_store(&server.running, 0);
		close(server.wake_fd);
	}
	listener_close(&server.listener);
	return err;
}

static void server_open(struct live *live, const struct config *config)
{
	int err;

	if (!config->listen)
		return;
	/* The former thread was busy when server_close() timed out, and still uses the state. */
	if (atomic_load(&server.running)) {
		log_info("no live endpoint: the previous one has not ended yet");
		return;
	}
	/* With the program's descriptor table, its children would inherit the socket and listen on it. */
	if (!own_fds_apart()) {
		log_info("no live endpoint: the agent cannot have its own descriptor table here");
		return;
	}
	server.live = live;
	server.config = config;
	server.accept_from_ns = 0;
	atomic_store(&server.is_closing, false);
	err = server_start();
	if (!err)
		log_info("the live endpoint listens at %s", server.listener.path);
	else if (strcmp(config->listen, "auto") != 0)
		log_warn("no live endpoint at %s: %s", config->listen, strerror(-err));
	else
		log_info("no live endpoint: %s", strerror(-err));
}

static void server_close(struct live *live)
{
	uint64_t until = clock_monotonic_ns() + CLOSE_NS, one = 1;

	(void)live;
	if (!atomic_load(&server.running))
		return;
	atomic_store(&server.is_closing, true);
	if (write(server.wake_fd, &one, sizeof(one)) < 0)
		log_debug("cannot wake the live endpoint's thread");
	/* (While it converts a large profile, the thread does not check the flag.) */
	while (atomic_load(&server.running) && clock_monotonic_ns() < until)
		futex_wait_until(&server.running, 1, until);
}

const struct live_endpoint live_endpoint = { .open = server_open, .close = server_close };
