/* Wake-up flag: one thread sleeps, any thread wakes it. */
#include "core/wake.h"

#include "core/futex.h"

void wake_up(struct wake *wake)
{
	if (!atomic_exchange_explicit(&wake->pending, 1, memory_order_release))
		futex_wake(&wake->pending);
}

bool wake_wait(struct wake *wake, uint64_t deadline_ns)
{
	while (!atomic_exchange_explicit(&wake->pending, 0, memory_order_acquire))
		if (futex_wait_until(&wake->pending, 0, deadline_ns) == -ETIMEDOUT)
			return atomic_exchange_explicit(&wake->pending, 0, memory_order_acquire);
	return true;
}
