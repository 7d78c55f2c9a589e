/* A lock that fork takes as well. */
#include "asyncprof/loader_gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/clock.h"
#include "core/old_symbol.h"
#include "core/system.h"

OLD_SYMBOL(pthread_mutex_trylock, "2.2.5")

static pthread_mutex_t gate = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static __thread bool fork_holds; /* several threads may be between prepare and the rest */

/* A fork has waited in vain: those behind it do not wait as well. */
static atomic_bool overdue;

/* (Not by pthread_mutex_clocklock(3), which thread sanitizers do not know; and the other one with
 * an end takes a clock that may be set.) */
static bool take_gate(void)
{
	uint64_t end_ns = clock_monotonic_ns() + LOADER_GATE_WAIT_NS;

	while (pthread_mutex_trylock(&gate)) {
		if (atomic_load(&overdue) || clock_monotonic_ns() >= end_ns)
			return false;
		system_sleep(100000);
	}
	return true;
}

static void fork_prepare(void)
{
	int saved = errno;

	fork_holds = take_gate();
	atomic_store(&overdue, !fork_holds);
	errno = saved;
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
	static bool is_open;

	if (!is_open && pthread_atfork(fork_prepare, fork_parent, fork_child))
		return -ENOMEM;
	is_open = true;
	return 0;
}

void loader_gate_enter(void)
{
	pthread_mutex_lock(&gate);
}

void loader_gate_leave(void)
{
	pthread_mutex_unlock(&gate);
}
