/* The live endpoint's thread: connections, their time limits, and their number.
 *
 * A peer costs a descriptor and some memory, and nobody else any time: what it sends is taken as it comes, what
 * it is sent goes as it takes it. The work itself, which is short but for a large profile, is done in this
 * thread, so requests wait for each other and not for more than that. */
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

/* Peers at one time; more wait to be accepted, or push out who has not asked yet, and had time to. */
#define CONNECTIONS_MAX 64
#define GRACE_NS        SECONDS(1)

/* Until a request has come whole; and with no byte of the answer taken. */
#define REQUEST_NS SECONDS(5)
#define ANSWER_NS  SECONDS(10)

/* Until all of an answer is taken. */
#define ANSWER_MOST_NS MINUTES(10)

/* The most that close() waits for the thread; and for a last line of an answer to go out. */
#define CLOSE_NS MS(500)

enum stage { READING, WAITING, WRITING, DRAINING };

struct connection {
	int fd;
	enum stage stage;
	uint64_t until_ns; /* monotonic: given up then, or when WAITING: goes on */
	uint64_t end_ns;   /* of an answer: not later */
	struct request request;
	struct visit visit;
	struct response response;
	struct buf head;
	size_t sent; /* of the head and the body */
};

static struct {
	struct live *live;
	const struct config *config;
	struct listener listener;
	int wake_fd; /* an eventfd by which the thread is woken */
	struct connection *connections[CONNECTIONS_MAX];
	size_t count;
	_Atomic uint32_t running; /* a futex for who waits for its end */
	_Atomic bool closing;
} server = { .listener.fd = -1 };

static void connection_close(size_t i)
{
	struct connection *c = server.connections[i];

	routes_cancel(&c->visit);
	close(c->fd);
	buf_free(&c->response.body);
	buf_free(&c->head);
	free(c);
	server.connections[i] = server.connections[--server.count];
}

static uint64_t earlier_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void connection_begin_response(struct connection *c)
{
	c->stage = WRITING;
	c->until_ns = clock_monotonic_ns() + ANSWER_NS;
	c->end_ns = clock_monotonic_ns() + ANSWER_MOST_NS;
	c->head = (struct buf)BUF_INIT(4096);
	response_write_head(&c->response, &c->head);
	if (c->request.method == REQUEST_HEAD)
		buf_reset(&c->response.body);
}

static void connection_handle(struct connection *c)
{
	uint64_t wait_ns = routes_handle(&c->visit, &c->request, &c->response);

	if (!wait_ns) {
		connection_begin_response(c);
		return;
	}
	c->stage = WAITING;
	c->until_ns = clock_monotonic_ns() + wait_ns;
}

/* What can be read now. False when the connection is done with. */
static bool connection_read(struct connection *c)
{
	char data[4096];
	ssize_t length = recv(c->fd, data, sizeof(data), MSG_DONTWAIT);
	int got;

	if (length < 0)
		return errno == EAGAIN || errno == EINTR;
	if (c->stage == WAITING)
		return length > 0; /* it may say more, which is not heard; or be gone */
	if (c->stage == DRAINING)
		return length > 0;
	if (!length)
		return false;
	got = request_parse(&c->request, data, (size_t)length);
	if (!got)
		return true;
	if (got > 0) {
		connection_handle(c);
		return true;
	}
	response_set_text(&c->response, got == -EFBIG ? 413 : 400,
			  got == -EFBIG ? "the request is too large" : "this is no HTTP request");
	connection_begin_response(c);
	return true;
}

/* What can be written now. False when all is, or the peer has gone. */
static bool connection_write(struct connection *c)
{
	const struct buf *part = c->sent < c->head.length ? &c->head : &c->response.body;
	size_t at = part == &c->head ? c->sent : c->sent - c->head.length;
	ssize_t length = 0;

	if (at < part->length)
		length = send(c->fd, part->data + at, part->length - at,
			      MSG_DONTWAIT | MSG_NOSIGNAL);
	if (length < 0)
		return errno == EAGAIN || errno == EINTR;
	c->sent += (size_t)length;
	if (length)
		c->until_ns = earlier_ns(clock_monotonic_ns() + ANSWER_NS, c->end_ns);
	if (c->sent < c->head.length + c->response.body.length)
		return true;
	/* What was sent and not read would have the answer thrown away when the connection is closed. */
	shutdown(c->fd, SHUT_WR);
	c->stage = DRAINING;
	c->until_ns = clock_monotonic_ns() + SECONDS(1);
	return true;
}

/* When one more may take its place. Of many that come at once each is to get to say what it wants. */
static uint64_t connection_replaceable_ns(const struct connection *c)
{
	if (c->stage == DRAINING)
		return 0;
	return c->stage == READING ? c->until_ns - REQUEST_NS + GRACE_NS : UINT64_MAX;
}

/* When there is, or can be made, room for one more; *WHO is to go then, unless that is 0. */
static uint64_t accept_ns(size_t *who)
{
	uint64_t soonest = UINT64_MAX;

	if (server.count < CONNECTIONS_MAX)
		return 0;
	for (size_t i = 0; i < server.count; i++) {
		uint64_t ns = connection_replaceable_ns(server.connections[i]);

		if (ns < soonest) {
			soonest = ns;
			*who = i;
		}
	}
	return soonest ? soonest : 1;
}

static bool connections_make_space(void)
{
	size_t who = 0;
	uint64_t ns = accept_ns(&who);

	if (ns > clock_monotonic_ns())
		return false;
	if (ns)
		connection_close(who);
	return true;
}

static void connection_accept(void)
{
	const struct listener *listener = &server.listener;
	struct connection *c;
	int fd = fd_raise(accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));

	if (fd < 0)
		return;
	/* Not before there is work: the program waits at its end for this thread's. */
	own_thread_lower_priority();
	c = listener_admits(listener, fd) && connections_make_space() ? calloc(1, sizeof(*c))
								      : NULL;
	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->until_ns = clock_monotonic_ns() + REQUEST_NS;
	request_init(&c->request);
	c->response = (struct response)RESPONSE_INIT;
	c->visit = (struct visit)EXCHANGE_INIT;
	c->visit.live = server.live;
	c->visit.is_tcp = !listener->is_unix;
	c->visit.token = listener->is_unix ? NULL : server.config->listen_token;
	server.connections[server.count++] = c;
}

/* Its time has come. False when the connection is done with. */
static bool connection_expire(struct connection *c)
{
	uint64_t wait_ns;

	if (c->stage != WAITING)
		return false;
	wait_ns = routes_resume(&c->visit, &c->response);
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
	size_t who;
	uint64_t until = privileges_due_ns(), room = accept_ns(&who);

	if (room > now && room < until)
		until = room;
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

	/* From the last on, as one that is dropped has the last take its place. */
	for (size_t i = count; i-- && !atomic_load(&server.closing);) {
		struct connection *c = server.connections[i];
		bool goes_on = true;

		if (polled[i].revents)
			goes_on = c->stage == WRITING ? connection_write(c) : connection_read(c);
		if (goes_on && now >= c->until_ns && !polled[i].revents)
			goes_on = connection_expire(c);
		if (!goes_on)
			connection_close(i);
	}
}

static void server_wake(void *unused)
{
	uint64_t one = 1;

	(void)unused;
	/* It counts: nothing is lost where it cannot be written. */
	if (write(server.wake_fd, &one, sizeof(one)) < 0)
		return;
}

static void server_loop_iteration(void)
{
	uint64_t rung;
	struct pollfd polled[CONNECTIONS_MAX + 2];
	size_t count = server.count, who;
	uint64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < count; i++)
		polled[i] = (struct pollfd){ .fd = server.connections[i]->fd,
					     .events = connection_events(server.connections[i]) };
	/* They wait in line where there is no room. */
	polled[count] = (struct pollfd){ .fd = accept_ns(&who) <= now ? server.listener.fd : -1,
					 .events = POLLIN };
	polled[count + 1] = (struct pollfd){ .fd = server.wake_fd, .events = POLLIN };
	if (poll(polled, count + 2, poll_timeout_ms(now)) < 0)
		return;
	if (polled[count + 1].revents && read(server.wake_fd, &rung, sizeof(rung)) < 0)
		return;
	connections_serve(polled, count);
	if (polled[count].revents)
		connection_accept();
}

static void *server_run(void *unused)
{
	(void)unused;
	waiters_add(server_wake, NULL);
	while (!atomic_load(&server.closing) && !privileges_follow(false))
		server_loop_iteration();
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
	/* A thread that was busy still has what this one would use. */
	if (atomic_load(&server.running)) {
		log_info("the live endpoint that was is busy still, and there is no other");
		return;
	}
	/* In the program's own table its children would have the socket, and go on listening. */
	if (!own_fds_apart()) {
		log_info("no live endpoint: the agent has no descriptors of its own here");
		return;
	}
	server.live = live;
	server.config = config;
	atomic_store(&server.closing, false);
	err = server_start();
	if (!err)
		log_info("the live endpoint is %s", server.listener.path);
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
	atomic_store(&server.closing, true);
	if (write(server.wake_fd, &one, sizeof(one)) < 0)
		log_debug("the live endpoint's thread is not woken");
	/* (In the middle of a large profile it does not look up.) */
	while (atomic_load(&server.running) && clock_monotonic_ns() < until)
		futex_wait_until(&server.running, 1, until);
}

const struct live_endpoint live_endpoint = { .open = server_open, .close = server_close };
