/* Threads that wait for a word of memory to change. Async-signal-safe. */
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

/* Sleep while FUTEX holds VALUE, until woken or until END, a point of CLOCK_MONOTONIC (NULL: for
 * ever). Returns 0, or -errno: -ETIMEDOUT; -EAGAIN when it held another value from the start;
 * -EINTR. errno is not touched. */
static inline int futex_wait(_Atomic uint32_t *futex, uint32_t value, const struct timespec *end)
{
	/* The end of FUTEX_WAIT would be counted from now; that of FUTEX_WAIT_BITSET is a point. */
	return (int)kernel_call6(SYS_futex, (long)futex, FUTEX_WAIT_BITSET_PRIVATE, value,
				 (long)end, 0, FUTEX_BITSET_MATCH_ANY);
}

/* The same with the end in nanoseconds, UINT64_MAX for none. */
static inline int futex_wait_until(_Atomic uint32_t *futex, uint32_t value, uint64_t end_ns)
{
	struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000u),
				.tv_nsec = (long)(end_ns % 1000000000u) };

	return futex_wait(futex, value, end_ns == UINT64_MAX ? NULL : &end);
}

/* Wake all that wait. */
static inline void futex_wake(_Atomic uint32_t *futex)
{
	kernel_call4(SYS_futex, (long)futex, FUTEX_WAKE_PRIVATE, INT_MAX, 0);
}

#endif
