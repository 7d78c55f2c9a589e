/* One thread sleeps, anyone wakes it: a futex word. */
#ifndef CORE_WAKE_H
#define CORE_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised is ready. A wake that comes before the wait is not lost. */
struct wake {
	_Atomic uint32_t pending;
};

/* Async-signal-safe, errno preserved; from any thread, and cheap when already pending. */
void wake_up(struct wake *wake);

/* Whether somebody has called it and it was not seen yet: a glance, that may be outdated. */
static inline bool wake_is_pending(struct wake *wake)
{
	return atomic_load_explicit(&wake->pending, memory_order_relaxed);
}

/* Sleep until woken, or until DEADLINE_NS of the monotonic clock (UINT64_MAX: for ever).
 * Returns true when woken; the wake is then used up. */
bool wake_wait(struct wake *wake, uint64_t deadline_ns);

#endif
