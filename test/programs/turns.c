/* An event loop that waits by WAIT (epoll_wait, epoll_pwait, epoll_pwait2, poll, ppoll, select,
 * pselect). COUNT of its iterations last from LOW to HIGH milliseconds, every other one asleep;
 * between them are short ones. For each iteration of 4 ms or more it prints the microseconds by its
 * own clock, the function, and the maximum, from before the wait to after the next: "51234 sleeping
 * 51260". During it, the thread has the label turn=sleeping.
 *
 * usage: turns WAIT COUNT LOW HIGH [forked|begun-anew|SETTING=VALUE]    in a forked child; or after the agent was
 *                                   stopped, an iteration of 300 ms, and a start; or after a setting was changed
 *        turns cost MILLION: nanoseconds of an empty iteration, of so many */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define NOINLINE __attribute__((noinline))

static int event, epoll;
static uint64_t sink;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_epoll_wait(void)
{
	struct epoll_event one;

	return epoll_wait(epoll, &one, 1, 1000);
}

static int by_epoll_pwait(void)
{
	struct epoll_event one;

	return epoll_pwait(epoll, &one, 1, 1000, NULL);
}

static int by_epoll_pwait2(void)
{
	struct epoll_event one;

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35)
	static const struct timespec second = { .tv_sec = 1 };
	int result = epoll_pwait2(epoll, &one, 1, &second, NULL);

	if (result >= 0 || errno != ENOSYS)
		return result;
#endif
	return epoll_wait(epoll, &one, 1, 1000);
}

static int by_poll(void)
{
	struct pollfd one = { .fd = event, .events = POLLIN };

	return poll(&one, 1, 1000);
}

static int by_ppoll(void)
{
	static const struct timespec second = { .tv_sec = 1 };
	struct pollfd one = { .fd = event, .events = POLLIN };

	return ppoll(&one, 1, &second, NULL);
}

static int by_select(void)
{
	struct timeval second = { .tv_sec = 1 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(event, &set);
	return select(event + 1, &set, NULL, NULL, &second);
}

static int by_pselect(void)
{
	static const struct timespec second = { .tv_sec = 1 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(event, &set);
	return pselect(event + 1, &set, NULL, NULL, &second, NULL);
}

static const struct {
	const char *name;
	int (*wait)(void);
} waits[] = {
	{ "epoll_wait", by_epoll_wait },
	{ "epoll_pwait", by_epoll_pwait },
	{ "epoll_pwait2", by_epoll_pwait2 },
	{ "poll", by_poll },
	{ "ppoll", by_ppoll },
	{ "select", by_select },
	{ "pselect", by_pselect },
};

/* A third of it is a wait for one descriptor, which does not end an iteration of an epoll loop;
 * then a wait for time, which ends none either. */
NOINLINE static void sleeping(uint64_t us)
{
	struct pollfd quiet = { .fd = eventfd(0, EFD_CLOEXEC) };
	struct timeval third = { .tv_usec = (suseconds_t)(us / 3) };

	if (epoll >= 0)
		poll(&quiet, 1, (int)(us / 3000));
	close(quiet.fd);
	select(0, NULL, NULL, NULL, &third);
	usleep((useconds_t)(epoll >= 0 ? us / 3 : us * 2 / 3));
}

NOINLINE static void burning(uint64_t us)
{
	uint64_t end = now_ns() + us * 1000;

	do
		for (unsigned i = 0; i < 20000; i++)
			sink += i * i;
	while (now_ns() < end);
	__asm__ volatile("" ::"r"(sink));
}

/* The current iteration, if it is long. */
static struct {
	uint64_t from, ns;
	const char *name;
} now;

static void turn_is_over(void)
{
	if (now.name && now.ns >= 4000000)
		printf("%llu %s %llu\n", (unsigned long long)now.ns / 1000, now.name,
		       (unsigned long long)(now_ns() - now.from) / 1000);
	now.name = NULL;
}

static void take_turn(int (*wait)(void), void (*body)(uint64_t us), uint64_t us)
{
	uint64_t one = 1, before, began;

	CHECK(write(event, &one, sizeof(one)) == sizeof(one));
	before = now_ns();
	CHECK(wait() == 1);
	turn_is_over();
	began = now_ns();
	CHECK(read(event, &one, sizeof(one)) == sizeof(one));
	if (body) {
		ASPROF_AGENT_LABEL("turn", body == sleeping ? "sleeping" : "burning");
		body(us);
		ASPROF_AGENT_LABEL("turn", NULL);
	}
	now.from = before;
	now.ns = now_ns() - began;
	now.name = body == sleeping ? "sleeping" : body ? "burning" : "short";
}

static void cost(unsigned millions)
{
	uint64_t one = 1, began;

	CHECK(write(event, &one, sizeof(one)) == sizeof(one));
	began = now_ns();
	for (unsigned i = 0; i < millions * 1000000u; i++)
		CHECK(by_epoll_wait() == 1);
	printf("%.1f\n", (double)(now_ns() - began) / millions / 1e6);
}

static void wait_until_running(void)
{
	for (int i = 0; i < 3000 && asprof_agent_running && !asprof_agent_running(); i++)
		usleep(10000);
	usleep(300000); /* and the watcher knows the clock's rate */
}

/* Returns in the child; the parent ends like the child. */
static void go_on_in_child(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		return;
	CHECK(waitpid(child, &status, 0) == child);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void begin_anew(int (*wait)(void))
{
	uint64_t one = 1;

	if (!asprof_agent_stop)
		return;
	CHECK(write(event, &one, sizeof(one)) == sizeof(one) && wait() == 1);
	CHECK(!asprof_agent_stop());
	usleep(300000);
	CHECK(wait() == 1 && read(event, &one, sizeof(one)) == sizeof(one));
	CHECK(!asprof_agent_start());
}

int main(int count, char **arguments)
{
	struct epoll_event readable = { .events = EPOLLIN };
	int (*wait)(void) = NULL;
	unsigned low, high;

	event = eventfd(0, EFD_CLOEXEC);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	CHECK(count > 2 && !epoll_ctl(epoll, EPOLL_CTL_ADD, event, &readable));
	if (count == 6 && !strcmp(arguments[5], "forked"))
		go_on_in_child();
	wait_until_running();
	if (!strcmp(arguments[1], "cost")) {
		cost((unsigned)atoi(arguments[2]));
		return 0;
	}
	CHECK(count == 5 || count == 6);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (!strcmp(waits[i].name, arguments[1]))
			wait = waits[i].wait;
	CHECK(wait);
	if (strncmp(arguments[1], "epoll", 5) != 0)
		epoll = -1;
	if (count == 6 && !strcmp(arguments[5], "begun-anew")) {
		begin_anew(wait);
		wait_until_running();
	}
	if (count == 6 && strchr(arguments[5], '=') && asprof_agent_set) {
		*strchr(arguments[5], '=') = '\0';
		CHECK(!asprof_agent_set(arguments[5], arguments[5] + strlen(arguments[5]) + 1));
		wait_until_running();
	}
	low = (unsigned)atoi(arguments[3]);
	high = (unsigned)atoi(arguments[4]);
	for (unsigned i = 0, of = (unsigned)atoi(arguments[2]); i < of; i++) {
		take_turn(wait, i % 2 ? burning : sleeping,
			  1000 * (low + (of > 1 ? (high - low) * i / (of - 1) : 0)));
		for (int k = 0; k < 20; k++)
			take_turn(wait, NULL, 0);
		take_turn(wait, sleeping, 1000);
	}
	return 0;
}
