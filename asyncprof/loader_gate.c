/* Lock between fork(2) and the dynamic linker. Forks share it; a thread in the gate has it alone. */
#include "asyncprof/loader_gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/futex.h"
#include "core/system.h"

#define LOOK_NS 100000

static __thread unsigned int depth; /* nesting depth of this thread in the gate */

/* TAKEN: a thread is in the gate, or waits there for forks to end. WAITED_FOR: other threads also sleep until it is
 * free. */
enum { FREE, TAKEN, WAITED_FOR };

static _Atomic uint32_t gate;
static _Atomic unsigned int forks; /* forks that the gate waits for */
static __thread bool fork_counts;  /* this thread's fork is one of them */

/* Function to call after this thread's fork, or NULL. */
static __thread void (*after_fork)(void);

/* A fork has waited until the limit: later forks do not wait. */
static atomic_bool overdue;

/* Each side announces itself before it checks the other. */
static bool fork_enter(void)
{
	atomic_fetch_add(&forks, 1);
	if (atomic_load(&gate) == FREE)
		return true;
	atomic_fetch_sub(&forks, 1);
	return false;
}

static void gate_wait_until_free(uint64_t end_ns)
{
	uint32_t taken = TAKEN;

	if (atomic_compare_exchange_strong(&gate, &taken, WAITED_FOR) || taken == WAITED_FOR)
		futex_wait_until(&gate, WAITED_FOR, end_ns);
}

static bool fork_enter_in_time(void)
{
	uint64_t end_ns = clock_monotonic_ns() + LOADER_GATE_WAIT_NS;

	while (!fork_enter()) {
		if (atomic_load(&overdue) || clock_monotonic_ns() >= end_ns)
			return false;
		gate_wait_until_free(end_ns);
	}
	return true;
}

static void fork_prepare(void)
{
	int saved = errno;

	if (depth)
		return;
	fork_counts = fork_enter_in_time();
	if (atomic_load(&overdue) == fork_counts)
		atomic_store(&overdue, !fork_counts);
	errno = saved;
}

static void fork_parent(void)
{
	void (*function)(void);

	if (fork_counts)
		atomic_fetch_sub(&forks, 1);
	fork_counts = false;
	/* From here on a signal is no longer within fork(3). */
	atomic_signal_fence(memory_order_seq_cst);
	function = after_fork;
	after_fork = NULL;
	if (function)
		function();
}

/* The thread in the gate does not exist in the child. */
static void fork_child(void)
{
	atomic_store(&gate, FREE);
	atomic_store(&forks, 0);
	fork_counts = false;
	after_fork = NULL;
	depth = 0;
}

bool loader_gate_run_after_fork(void (*function)(void))
{
	if (fork_counts)
		after_fork = function;
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
	uint32_t free = FREE;

	if (depth++)
		return;
	while (!atomic_compare_exchange_strong(&gate, &free, TAKEN)) {
		gate_wait_until_free(UINT64_MAX);
		free = FREE;
	}
	while (atomic_load(&forks))
		system_sleep(LOOK_NS);
}

void loader_gate_leave(void)
{
	if (depth && !--depth && atomic_exchange(&gate, FREE) == WAITED_FOR)
		futex_wake(&gate);
}
