/* The agent's own threads: few, small, and out of the program's way. */
#include "core/own_thread.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/own_fds.h"

struct start {
	char name[16];
	void *(*run)(void *);
	void *argument;
	bool fds_apart;
};

static __thread bool own;
static _Atomic pid_t tids[OWN_THREADS_MAX];

static bool enlist(pid_t tid)
{
	for (size_t i = 0; i < OWN_THREADS_MAX; i++) {
		pid_t none = 0;

		if (atomic_compare_exchange_strong(&tids[i], &none, tid))
			return true;
	}
	return false;
}

static void strike_off(pid_t tid)
{
	for (size_t i = 0; i < OWN_THREADS_MAX; i++) {
		pid_t expected = tid;

		if (atomic_compare_exchange_strong(&tids[i], &expected, 0))
			return;
	}
}

static void *begin(void *argument)
{
	struct start start = *(struct start *)argument;
	void *result = NULL;

	free(argument);
	own = true;
	own_fds_inherit(start.fds_apart);
	if (!enlist(gettid()))
		return NULL;
	prctl(PR_SET_NAME, start.name);
	/* On Linux this is the priority of the calling thread alone. */
	setpriority(PRIO_PROCESS, (id_t)gettid(), 10);
	result = start.run(start.argument);
	strike_off(gettid());
	return result;
}

int own_thread_start(const char *name, void *(*run)(void *), void *argument)
{
	struct start *start = malloc(sizeof(*start));
	bool was_own = own;
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t every;
	int err;

	if (!start)
		return -ENOMEM;
	start->run = run;
	start->argument = argument;
	start->fds_apart = own_fds_apart();
	snprintf(start->name, sizeof(start->name), "%s", name);

	err = pthread_attr_init(&attr);
	if (err)
		goto out;
	sigfillset(&every);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, OWN_THREAD_STACK_SIZE);
	pthread_attr_setsigmask_np(&attr, &every);
	own = true; /* so that our own wrapper of pthread_create lets it pass */
	err = pthread_create(&thread, &attr, begin, start);
	own = was_own;
	pthread_attr_destroy(&attr);
out:
	if (err)
		free(start);
	return -err;
}

bool own_thread_is(void)
{
	return own;
}

bool own_thread_known(pid_t tid)
{
	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		if (atomic_load(&tids[i]) == tid)
			return true;
	return false;
}

uint32_t own_thread_count(void)
{
	uint32_t count = 0;

	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		count += atomic_load(&tids[i]) != 0;
	return count;
}

void own_thread_forget(void)
{
	own = false;
	for (size_t i = 0; i < OWN_THREADS_MAX; i++)
		atomic_store(&tids[i], 0);
}
