/* Threads wait shortly for a socket and close it: the peer must see the end, and the port must be free.
 * Arguments: seconds, threads, and optionally "changes": meanwhile the interval of CPU samples changes. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

#define THREADS_MAX 64

static atomic_bool stops;
static int threads;

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* Each thread has at most 4 descriptors. */
static int opened(int fd)
{
	check(fd > 2 && fd < 3 + 4 * threads, "descriptor");
	return fd;
}

/* Wait for FD, which has no data, for one or two milliseconds, and close it. */
static void wait_and_close(int fd, unsigned *seed)
{
	struct timeval limit = { 0, 1000 + rand_r(seed) % 1000 };
	char byte;

	check(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), "SO_RCVTIMEO");
	check(recv(fd, &byte, 1, 0) == -1 && errno == EAGAIN, "recv");
	check(!close(fd), "close");
}

static void exchange(int from, int to, unsigned *seed)
{
	char sent[4096], received[4096];

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (char)rand_r(seed);
	check(send(from, sent, sizeof(sent), 0) == sizeof(sent), "send");
	check(recv(to, received, sizeof(received), MSG_WAITALL) == sizeof(received), "received");
	check(!memcmp(sent, received, sizeof(sent)), "bytes");
	wait_and_close(from, seed);
	check(!recv(to, received, 1, 0), "the end");
	check(!close(to), "close");
}

static void accept_and_close(int listener)
{
	struct timeval limit = { 0, 1000 };

	check(!setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), "SO_RCVTIMEO");
	check(accept(listener, NULL, NULL) == -1 && errno == EAGAIN, "accept");
	check(!close(listener), "close");
}

/* Each thread of each process has its own address, so that no other one takes its port. */
static void *opens_and_closes(void *argument)
{
	unsigned index = (unsigned)(size_t)argument, seed = index;
	in_addr_t host = 127u << 24 | ((unsigned)getpid() & 0xffff) << 8 | index;
	int one = 1;

	while (!stops) {
		struct sockaddr_in address = { .sin_family = AF_INET,
					       .sin_addr.s_addr = htonl(host) };
		struct sockaddr *any = (struct sockaddr *)&address;
		socklen_t size = sizeof(address);
		int listener = opened(socket(AF_INET, SOCK_STREAM, 0)), client, pair[2];

		check(!setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)),
		      "SO_REUSEADDR");
		check(!bind(listener, any, size) && !listen(listener, 4) &&
			      !getsockname(listener, any, &size),
		      "listen");
		client = opened(socket(AF_INET, SOCK_STREAM, 0));
		check(!connect(client, any, size), "connect");
		exchange(client, opened(accept(listener, NULL, NULL)), &seed);
		accept_and_close(listener);
		listener = opened(socket(AF_INET, SOCK_STREAM, 0));
		check(!setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)),
		      "SO_REUSEADDR");
		check(!bind(listener, any, size), "the port is in use");
		check(!close(listener), "close");
		check(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
		exchange(opened(pair[0]), opened(pair[1]), &seed);
	}
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Return the number of changes. */
static int change_intervals(uint64_t until_ms)
{
	int changes = 0;

	while (!asprof_agent_running())
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	while (now_ms() < until_ms) {
		check(!asprof_agent_set("CPU_INTERVAL", changes % 2 ? "1ms" : "2ms"), "a change");
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		changes++;
	}
	return changes;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS_MAX];
	int changes = 0;

	threads = argc > 2 ? atoi(argv[2]) : 0;
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	for (int i = 0; i < threads; i++)
		check(!pthread_create(&ids[i], NULL, opens_and_closes, (void *)(size_t)(i + 1)),
		      "pthread_create");
	if (argc > 3 && asprof_agent_running)
		changes = change_intervals(now_ms() + (uint64_t)atoi(argv[1]) * 1000);
	else
		nanosleep(&(struct timespec){ .tv_sec = atoi(argv[1]) }, NULL);
	stops = true;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf(argc > 3 ? "%d changes\n" : "ok\n", changes);
	return 0;
}
