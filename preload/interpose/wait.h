/* How long a call that is made again still has to wait. Times are in nanoseconds of
 * CLOCK_MONOTONIC, by which the kernel measures timeouts. */
#ifndef PRELOAD_INTERPOSE_WAIT_H
#define PRELOAD_INTERPOSE_WAIT_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/clock.h"

/* NS from now, or 0 where there is nothing to measure: no wait, or one that is too long. */
static inline uint64_t wait_end_ns(uint64_t ns)
{
	return ns && ns < INT64_MAX ? clock_monotonic_ns() + ns : 0;
}

/* From now to END, not less than 0. */
static inline uint64_t wait_left_ns(uint64_t end)
{
	uint64_t now = clock_monotonic_ns();

	return end > now ? end - now : 0;
}

/* The end of a wait of TIMEOUT from now on; 0 when that is NULL, zero, invalid or beyond
 * centuries: it is then given again as it is. */
static inline uint64_t wait_start(const struct timespec *timeout)
{
	if (!timeout || timeout->tv_sec < 0 || timeout->tv_sec > INT64_MAX / 2000000000 ||
	    timeout->tv_nsec < 0 || timeout->tv_nsec > 999999999)
		return 0;
	return wait_end_ns((uint64_t)timeout->tv_sec * 1000000000 + (uint64_t)timeout->tv_nsec);
}

/* What is left until END of TIMEOUT, in LEFT. */
static inline const struct timespec *wait_left(uint64_t end, const struct timespec *timeout,
					       struct timespec *left)
{
	uint64_t ns;

	if (!end)
		return timeout;
	ns = wait_left_ns(end);
	left->tv_sec = (time_t)(ns / 1000000000);
	left->tv_nsec = (long)(ns % 1000000000);
	return left;
}

/* The same in LEFT always, for the kernel to write to; NULL for no end. */
static inline struct timespec *wait_left_in(uint64_t end, const struct timespec *timeout,
					    struct timespec *left)
{
	timeout = wait_left(end, timeout, left);
	if (timeout && timeout != left)
		*left = *timeout;
	return timeout ? left : NULL;
}

/* The same for milliseconds: rounded up, so that no wait ends early. */
static inline uint64_t wait_end_ms(int ms)
{
	return ms > 0 ? wait_end_ns((uint64_t)ms * 1000000) : 0;
}

static inline int wait_left_ms(uint64_t end, int ms)
{
	return end ? (int)((wait_left_ns(end) + 999999) / 1000000) : ms;
}

/* Of milliseconds, for calls that take nanoseconds. */
static inline struct timespec *wait_left_of_ms(uint64_t end, int ms, struct timespec *left)
{
	if (ms < 0)
		return NULL;
	*left = (struct timespec){ 0 };
	wait_left(end, left, left);
	return left;
}

#endif
