/* Open-loop client: sends requests at a fixed rate, however long the responses take. Usage:
 * open_loop http|redis PORT RATE CONNECTIONS WARM_UP_SECONDS SECONDS
 *
 * The time of a request begins when it was due, not when a connection was free for it: otherwise a slow response would
 * hide the delay of those after it (coordinated omission). Prints a histogram of the times after the warm-up: lines of
 * the lower limit of a range in microseconds, and the number of requests in it. A range is 1.6% wide at most. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 256
#define PARTS_BITS      6
#define PARTS           (1u << PARTS_BITS) /* of each power of two */
#define OCTAVES         (64 - PARTS_BITS)
#define LATE_NS         (60 * 1000000000ull)

struct connection {
	bool is_busy;
	uint64_t due_ns; /* of the request that waits for a response */
	size_t length;
	char reply[64 << 10];
};

static struct pollfd polled[CONNECTIONS_MAX];
static struct connection connections[CONNECTIONS_MAX];
static uint64_t ranges[OCTAVES][PARTS];
static int count;
static bool is_redis;

static void die(const char *what)
{
	fprintf(stderr, "open_loop: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void connect_all(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
		    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
			die("connect");
		polled[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
}

static void request_send(int i, uint64_t number, uint64_t due_ns)
{
	char text[256];
	int length;

	if (!is_redis)
		length = snprintf(text, sizeof(text), "GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n",
				  (int)(number % 300));
	else if (number % 2)
		length = snprintf(text, sizeof(text), "GET key:%d\r\n", (int)(number % 1000));
	else
		length = snprintf(text, sizeof(text), "SET key:%d %0100d\r\n", (int)(number % 1000),
				  0);
	if (send(polled[i].fd, text, (size_t)length, MSG_NOSIGNAL) != length)
		die("send");
	connections[i].is_busy = true;
	connections[i].due_ns = due_ns;
	connections[i].length = 0;
}

/* Whether TEXT, of LENGTH bytes, is a whole response. */
static bool reply_is_whole(const char *text, size_t length)
{
	const char *body = strstr(text, is_redis ? "\r\n" : "\r\n\r\n"), *field;

	if (!body)
		return false;
	body += is_redis ? 2 : 4;
	if (is_redis)
		return *text != '$' || text[1] == '-' ||
		       length >= (size_t)(body - text) + strtoul(text + 1, NULL, 10) + 2;
	field = strcasestr(text, "\r\nContent-Length:");
	if (strncmp(text, "HTTP/1.1 200", 12) != 0 || !field || field > body) {
		fprintf(stderr, "open_loop: unexpected response: %.200s\n", text);
		exit(1);
	}
	return length >= (size_t)(body - text) + strtoul(field + 17, NULL, 10);
}

/* Read what is there. Returns true if the response is whole. */
static bool reply_read(int i)
{
	struct connection *c = &connections[i];
	ssize_t got = recv(polled[i].fd, c->reply + c->length, sizeof(c->reply) - 1 - c->length, 0);

	if (got <= 0)
		die("recv");
	c->length += (size_t)got;
	c->reply[c->length] = '\0';
	if (!reply_is_whole(c->reply, c->length))
		return false;
	c->is_busy = false;
	return true;
}

static void record(uint64_t took_ns)
{
	int octave = 63 - __builtin_clzll(took_ns | PARTS) - PARTS_BITS;

	ranges[octave][(took_ns >> octave) % PARTS]++;
}

static void print_ranges(void)
{
	for (int octave = 0; octave < OCTAVES; octave++)
		for (unsigned part = 0; part < PARTS; part++)
			if (ranges[octave][part])
				printf("%.3f %llu\n",
				       (double)((uint64_t)(PARTS + part) << octave) / 1e3,
				       (unsigned long long)ranges[octave][part]);
}

/* Send the requests that are due, as far as connections are free. Returns the number of the next one. */
static uint64_t send_due(uint64_t next, uint64_t end, uint64_t start_ns, double period_ns)
{
	uint64_t now = now_ns();

	for (int i = 0; i < count && next < end; i++) {
		uint64_t due_ns = start_ns + (uint64_t)((double)next * period_ns);

		if (due_ns > now)
			break;
		if (!connections[i].is_busy)
			request_send(i, next++, due_ns);
	}
	return next;
}

static void wait_until(uint64_t due_ns)
{
	uint64_t now = now_ns(), left = due_ns > now ? due_ns - now : 0;
	struct timespec time = { (time_t)(left / 1000000000u), (long)(left % 1000000000u) };

	if (ppoll(polled, (nfds_t)count, &time, NULL) < 0)
		die("ppoll");
}

static void run(double rate, double warm_up, double seconds)
{
	uint64_t start_ns = now_ns(), next = 0, done = 0,
		 end = (uint64_t)(rate * (warm_up + seconds));
	uint64_t counted_from = start_ns + (uint64_t)(warm_up * 1e9), now;
	double period_ns = 1e9 / rate;

	while (done < end) {
		next = send_due(next, end, start_ns, period_ns);
		now = now_ns();
		wait_until(next < end && next - done < (uint64_t)count
				   ? start_ns + (uint64_t)((double)next * period_ns)
				   : now + LATE_NS);
		for (int i = 0; i < count; i++) {
			if (!polled[i].revents || !reply_read(i))
				continue;
			done++;
			if (connections[i].due_ns >= counted_from)
				record(now_ns() - connections[i].due_ns);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 7)
		return 2;
	is_redis = !strcmp(argv[1], "redis");
	count = atoi(argv[4]);
	if (count < 1 || count > CONNECTIONS_MAX)
		return 2;
	prctl(PR_SET_TIMERSLACK, 1);
	connect_all((uint16_t)atoi(argv[2]));
	run(atof(argv[3]), atof(argv[5]), atof(argv[6]));
	print_ranges();
	return 0;
}
