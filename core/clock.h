/* Time, in the three forms that a profiler needs. All are async-signal-safe, and the kernel's: other
 * preloads give the program another time (libfaketime), which the kernel, and whom we talk to, do not
 * go by. */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* clock_gettime(2). Returns 0 or -errno; errno is not touched. */
int clock_read(clockid_t clock, struct timespec *now);

/* Nanoseconds of CLOCK_MONOTONIC and of CLOCK_REALTIME. */
uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);

/* The first, as of the scheduler's last tick, some milliseconds ago: a tenth of the price where the kernel is not
 * entered for it. */
uint64_t clock_coarse_ns(void);

/* The CPU time of the calling thread, in nanoseconds. */
uint64_t clock_cpu_ns(void);

/* Whether reading a clock is a look at memory here. */
bool clock_is_memory(void);

/* The processor's timestamp counter, the unit of every time in a recording. */
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
#error "no timestamp counter known for this processor"
#endif
}

/* N, where 2^N ticks are about a microsecond: from half of one to one. (On x86-64, whose counter does
 * not tell how fast it is, that of a counter of 2 to 4 GHz.) */
unsigned arch_microsecond_shift(void);

#endif
