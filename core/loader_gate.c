/* A lock that fork takes as well. */
#include "core/loader_gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static pthread_mutex_t gate = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static __thread bool fork_holds; /* several threads may be between prepare and the rest */

/* A fork has waited in vain: those behind it do not wait as well. */
static atomic_bool overdue;

static bool take_gate(void)
{
	struct timespec until;

	if (atomic_load(&overdue))
		return !pthread_mutex_trylock(&gate);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LOADER_GATE_WAIT_S;
	return !pthread_mutex_clocklock(&gate, CLOCK_MONOTONIC, &until);
}

static void fork_prepare(void)
{
	fork_holds = take_gate();
	atomic_store(&overdue, !fork_holds);
}

static void fork_parent(void)
{
	if (fork_holds)
		pthread_mutex_unlock(&gate);
}

/* Whoever held it is not in the child. */
static void fork_child(void)
{
	gate = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

int loader_gate_init(void)
{
	return -pthread_atfork(fork_prepare, fork_parent, fork_child);
}

void loader_gate_enter(void)
{
	pthread_mutex_lock(&gate);
}

void loader_gate_leave(void)
{
	pthread_mutex_unlock(&gate);
}
