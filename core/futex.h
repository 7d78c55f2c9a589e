/* Futex calls: wait for a change of a word in memory. Async-signal-safe. */
#ifndef CORE_FUTEX_H
#define CORE_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/kernel.h"

/* Sleep while *FUTEX is VALUE, until woken or until END on CLOCK_MONOTONIC (NULL: no limit). errno is preserved.
 * Returns 0, or -errno: -ETIMEDOUT; -EAGAIN when *FUTEX was not VALUE at the start; -EINTR. */
static inline int futex_wait(_Atomic uint32_t *futex, uint32_t value, const struct timespec *end)
{
	/* FUTEX_WAIT takes a relative timeout, FUTEX_WAIT_BITSET an absolute one. */
	return (int)kernel_call6(SYS_futex, (long)futex, FUTEX_WAIT_BITSET_PRIVATE, value,
				 (long)end, 0, FUTEX_BITSET_MATCH_ANY);
}

/* The same with END_NS in nanoseconds; UINT64_MAX: no limit. */
static inline int futex_wait_until(_Atomic uint32_t *futex, uint32_t value, uint64_t end_ns)
{
	struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000u),
				.tv_nsec = (long)(end_ns % 1000000000u) };

	return futex_wait(futex, value, end_ns == UINT64_MAX ? NULL : &end);
}

/* Wake all waiting threads. */
static inline void futex_wake(_Atomic uint32_t *futex)
{
	kernel_call4(SYS_futex, (long)futex, FUTEX_WAKE_PRIVATE, INT_MAX, 0);
}

#endif
