/* Time, in the three forms that a profiler needs. */
#include "core/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

unsigned clock_microsecond_shift(void)
{
	unsigned shift = 11;
#if defined(__aarch64__)
	uint64_t frequency;

	__asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
	for (shift = 0; frequency >> shift >= 2000000; shift++)
		;
#endif
	return shift;
}
