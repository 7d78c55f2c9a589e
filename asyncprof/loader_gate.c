/* Forks pass together; who is in the gate is there alone. */
#include "asyncprof/loader_gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/clock.h"
#include "core/system.h"

#define LOOK_NS 100000

static __thread unsigned int depth; /* of this thread in the gate */

static atomic_bool taken;          /* somebody is in the gate, or waits for the forks to be over */
static _Atomic unsigned int forks; /* that hold it up */
static __thread bool fork_counts;  /* this thread's is among them */

static __thread void (*behind_fork)(
	void); /* what this thread, in one, is to do at its end; NULL: nothing */

/* A fork has waited in vain: those behind it do not wait as well. */
static atomic_bool overdue;

/* Either says first what it is about to do, and then looks at the other. */
static bool pass(void)
{
	atomic_fetch_add(&forks, 1);
	if (!atomic_load(&taken))
		return true;
	atomic_fetch_sub(&forks, 1);
	return false;
}

static bool pass_in_time(void)
{
	uint64_t end_ns = clock_monotonic_ns() + LOADER_GATE_WAIT_NS;

	while (!pass()) {
		if (atomic_load(&overdue) || clock_monotonic_ns() >= end_ns)
			return false;
		system_sleep(LOOK_NS);
	}
	return true;
}

static void fork_prepare(void)
{
	int saved = errno;

	if (depth)
		return;
	fork_counts = pass_in_time();
	if (atomic_load(&overdue) == fork_counts)
		atomic_store(&overdue, !fork_counts);
	errno = saved;
}

static void fork_parent(void)
{
	void (*then)(void);

	if (fork_counts)
		atomic_fetch_sub(&forks, 1);
	fork_counts = false;
	atomic_signal_fence(
		memory_order_seq_cst); /* a signal that comes here is none of a fork's any more */
	then = behind_fork;
	behind_fork = NULL;
	if (then)
		then();
}

/* Whoever was in it is not in the child. */
static void fork_child(void)
{
	atomic_store(&taken, false);
	atomic_store(&forks, 0);
	fork_counts = false;
	behind_fork = NULL;
	depth = 0;
}

bool loader_gate_behind_fork(void (*then)(void))
{
	if (fork_counts)
		behind_fork = then;
	return fork_counts;
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
	if (depth++)
		return;
	while (atomic_exchange(&taken, true))
		system_sleep(LOOK_NS);
	while (atomic_load(&forks))
		system_sleep(LOOK_NS);
}

void loader_gate_leave(void)
{
	if (depth && !--depth)
		atomic_store(&taken, false);
}
