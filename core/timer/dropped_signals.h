/* Count of the moments at which the agent dropped pending signals.
 *
 * Linux 6.13 and later drop the pending signal of a timer that is deleted or disarmed. That signal may have ended a
 * system call before. No handler runs then, and the program would see EINTR or a short transfer. So the interposers
 * restart a call if this count has changed meanwhile.
 *
 * All functions are async-signal-safe. */
#ifndef CORE_TIMER_DROPPED_SIGNALS_H
#define CORE_TIMER_DROPPED_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Low half: threads that drop signals now. High half: how often that has ended. */
extern _Atomic uint64_t dropped_signals;

/* Around a call that may drop signals of threads that are in system calls. */
static inline void dropped_signals_begin(void)
{
	atomic_fetch_add(&dropped_signals, 1);
}

static inline void dropped_signals_end(void)
{
	atomic_fetch_add(&dropped_signals, UINT32_MAX);
}

/* Return the count before a system call, for dropped_signals_since(). */
static inline uint64_t dropped_signals_count(void)
{
	return atomic_load_explicit(&dropped_signals, memory_order_acquire);
}

/* True if a signal may have been dropped since COUNT was read. */
static inline bool dropped_signals_since(uint64_t count)
{
	uint64_t now = dropped_signals_count();

	return now != count || (uint32_t)now;
}

/* In a forked child: no other thread drops signals. */
static inline void dropped_signals_after_fork(void)
{
	atomic_store(&dropped_signals, 0);
}

#endif
