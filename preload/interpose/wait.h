/* Remaining time of a restarted call.
 *
 * A relative wait is measured by the clock of the function that waits. If another preload after this one changes the
 * program's time (libfaketime), its clock and its waits agree. */
#ifndef PRELOAD_INTERPOSE_WAIT_H
#define PRELOAD_INTERPOSE_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

/* Return the nanoseconds of CLOCK by the next definition of clock_gettime(3). Preserves errno. */
int64_t wait_clock_ns(clockid_t clock);

/* Return the start of a wait by CLOCK_MONOTONIC, which the kernel uses for timeouts; 0 without a limit. */
static inline int64_t wait_start(bool limited)
{
	return limited ? wait_clock_ns(CLOCK_MONOTONIC) : 0;
}

/* Set LEFT to the remaining time of TIMEOUT, which is valid, after NS nanoseconds; at least 0. */
static inline const struct timespec *wait_left_after(int64_t ns, const struct timespec *timeout,
						     struct timespec *left)
{
	left->tv_sec = timeout->tv_sec - (time_t)(ns / 1000000000);
	left->tv_nsec = timeout->tv_nsec - (long)(ns % 1000000000);
	if (left->tv_nsec < 0) {
		left->tv_nsec += 1000000000;
		left->tv_sec--;
	}
	if (left->tv_sec < 0)
		*left = (struct timespec){ 0 };
	return left;
}

/* The same since START; TIMEOUT itself when START is 0. */
static inline const struct timespec *wait_left(int64_t start, const struct timespec *timeout,
					       struct timespec *left)
{
	return start ? wait_left_after(wait_start(true) - start, timeout, left) : timeout;
}

/* The same for select(2). */
static inline struct timeval *wait_left_val(int64_t start, struct timeval *timeout,
					    struct timeval *left)
{
	struct timespec spec;

	if (!start)
		return timeout;
	spec = (struct timespec){ timeout->tv_sec, timeout->tv_usec * 1000 };
	wait_left(start, &spec, &spec);
	*left = (struct timeval){ spec.tv_sec, (spec.tv_nsec + 999) / 1000 };
	if (left->tv_usec == 1000000)
		*left = (struct timeval){ spec.tv_sec + 1, 0 };
	return left;
}

/* The same for milliseconds, rounded up, so that no wait ends early. */
static inline int wait_left_ms(int64_t start, int ms)
{
	int64_t left = start ? ms * 1000000LL - (wait_start(true) - start) : 0;

	if (!start)
		return ms;
	return left > 0 ? (int)((left + 999999) / 1000000) : 0;
}

#endif
