/* Makes credential calls that cannot reduce the rights of the process, as a file server does for each request, and prints
 * the shortest time of each kind: "NAME NANOSECONDS". A call that waits for another thread is never short. With "threads",
 * does so in four threads at once, together with a call by which the C library changes all threads. */
#include <linux/capability.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/asprof_agent.h"
#include "test/programs/check.h"

#define CALLS     500
#define THREADS   4
#define ROUNDS    50
#define USER      65534
#define GIVE_UP_S 20

int capset(void *header, const void *data);

static struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
static struct __user_cap_data_struct all[2], fewer[2]; /* in force */

static int call_capset(int odd)
{
	return capset(&header, odd ? fewer : all);
}

static int call_setfsuid(int odd)
{
	return syscall(SYS_setfsuid, odd ? USER : 0) < 0;
}

static int call_keepcaps(int odd)
{
	return prctl(PR_SET_KEEPCAPS, (long)odd, 0L, 0L, 0L);
}

static int call_setresuid(int odd)
{
	return (int)syscall(SYS_setresuid, -1, odd ? USER : 0, -1);
}

static int call_setgroups(int odd)
{
	gid_t group = USER;

	return (int)syscall(SYS_setgroups, odd, &group);
}

static const struct {
	const char *name;
	int (*call)(int odd);
} calls[] = {
	{ "capset", call_capset },       { "setfsuid", call_setfsuid },
	{ "keepcaps", call_keepcaps },   { "setresuid", call_setresuid },
	{ "setgroups", call_setgroups },
};

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void time_call(const char *name, int (*call)(int))
{
	long least = -1;

	for (int i = 0; i < CALLS; i++) {
		long before = now_ns(), took;

		CHECK(!call(i % 2));
		took = now_ns() - before;
		if (least < 0 || took < least)
			least = took;
	}
	CHECK(!call(0));
	printf("%s %ld\n", name, least);
}

static void *change_often(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(!call_keepcaps(i % 2));
		CHECK(!seteuid(0));
	}
	return unused;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + GIVE_UP_S;
	pthread_t threads[THREADS];

	(void)argv;
	CHECK(!syscall(SYS_capget, &header, all));
	memcpy(fewer, all, sizeof(all));
	fewer[0].effective &= ~(1u << CAP_DAC_OVERRIDE);
	while (asprof_agent_running && !asprof_agent_running() && time(NULL) < until)
		usleep(1000);
	if (argc == 1) {
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			time_call(calls[i].name, calls[i].call);
		return 0;
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, change_often, NULL));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	until = time(NULL) + GIVE_UP_S;
	while (asprof_agent_running && !asprof_agent_running() && time(NULL) < until)
		usleep(1000);
	puts(!asprof_agent_running || asprof_agent_running() ? "ok"
							     : "the agent did not start again");
	return 0;
}
