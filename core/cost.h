/* Cost of sampling, by kind of sample, since the process began (in a forked child: including its parent's).
 *
 * The program's threads add the time of handlers and of allocation hooks. They read the monotonic clock, which needs
 * no system call; only the time of long handlers is CPU time. Signals are counted, because that time does not include
 * their delivery by the kernel: cost_counters_read() adds a constant for each (core/agent/cost_counters.h). The
 * agent's thread adds its own CPU time for collecting samples. */
#ifndef CORE_COST_H
#define CORE_COST_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/shared.h"

/* The first BUDGET_KINDS kinds are those that can be sampled less often (core/agent/budget.h). */
enum cost_kind {
	COST_CPU,
	COST_WALL,
	COST_MEMORY,
	COST_STALLS,
	COST_LOCKS,        /* sampled waits for locks, and the stacks of owners */
	COST_INTERPRETERS, /* frames of interpreters; a part of the other kinds */
};

_Static_assert(COST_INTERPRETERS + 1 == COST_KINDS, "shared memory has room for every kind");

/* Limit of the time that is added for one hook. A hook that took longer was probably preempted. */
#define COST_HOOK_MAX_NS 200000u

/* Add NS of a handler or hook, which took SAMPLES. Async-signal-safe, as is cost_add_signal(). */
static inline void cost_add(enum cost_kind kind, uint64_t ns, uint64_t samples)
{
	atomic_fetch_add_explicit(&shared->costs[kind].handlers_ns, ns, memory_order_relaxed);
	if (samples)
		atomic_fetch_add_explicit(&shared->costs[kind].samples, samples,
					  memory_order_relaxed);
}

/* Count a signal that requests a sample, whether it takes one or not. */
static inline void cost_add_signal(enum cost_kind kind)
{
	atomic_fetch_add_explicit(&shared->costs[kind].signals, 1, memory_order_relaxed);
}

/* Add CPU time of the agent's thread. */
static inline void cost_add_agent(enum cost_kind kind, uint64_t ns)
{
	atomic_fetch_add_explicit(&shared->costs[kind].agent_ns, ns, memory_order_relaxed);
}

#endif
