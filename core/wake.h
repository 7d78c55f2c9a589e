/* Wake-up flag: one thread sleeps, any thread wakes it. A futex word. */
#ifndef CORE_WAKE_H
#define CORE_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed memory is ready to use. A wake before the wait is not lost. */
struct wake {
	_Atomic uint32_t pending;
};

/* Wake the thread. Any thread; async-signal-safe; errno preserved. Cheap when a wake is already pending. */
void wake_up(struct wake *wake);

/* True when a wake is pending. The value may be outdated. */
static inline bool wake_is_pending(struct wake *wake)
{
	return atomic_load_explicit(&wake->pending, memory_order_relaxed);
}

/* Sleep until woken, or until DEADLINE_NS of the monotonic clock (UINT64_MAX: no limit). Returns true when woken, and
 * resets the flag; false at the deadline. Signal handlers do not end the sleep. */
bool wake_wait(struct wake *wake, uint64_t deadline_ns);

#endif
