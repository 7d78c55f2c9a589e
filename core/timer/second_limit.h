/* Limit for events in each second of the monotonic clock. Lock-free; async-signal-safe. Threads that count at the same
 * time may exceed the limit a little. */
#ifndef CORE_TIMER_SECOND_LIMIT_H
#define CORE_TIMER_SECOND_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed memory has counted nothing. */
struct second_limit {
	_Atomic uint64_t second;
	_Atomic uint32_t count; /* in that second */
};

/* True if MAX events were counted in the second of NOW_NS. */
static inline bool second_limit_is_reached(const struct second_limit *limit, uint64_t now_ns,
					   uint32_t max)
{
	return atomic_load(&limit->second) == now_ns / 1000000000u &&
	       atomic_load(&limit->count) >= max;
}

/* Count an event. Returns false if MAX were counted before in this second. */
static inline bool second_limit_count(struct second_limit *limit, uint64_t now_ns, uint32_t max)
{
	uint64_t second = now_ns / 1000000000u;

	if (atomic_exchange(&limit->second, second) != second)
		atomic_store(&limit->count, 0);
	return atomic_fetch_add(&limit->count, 1) < max;
}

#endif
