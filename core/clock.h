/* Clocks: monotonic time, wall-clock time, CPU time, and the timestamp counter.
 *
 * Async-signal-safe. They are the kernel's clocks: other preloads (libfaketime) give the program a different time,
 * which the kernel and remote servers do not use. */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "arch/arch.h"

/* clock_gettime(2). Returns 0 or -errno; errno is preserved. */
int clock_read(clockid_t clock, struct timespec *now);

/* TIME in nanoseconds. */
static inline uint64_t clock_time_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* Nanoseconds of CLOCK_MONOTONIC and of CLOCK_REALTIME. */
uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);

/* CLOCK_MONOTONIC at the scheduler's last tick, some milliseconds ago. Without a system call, this takes a tenth of
 * the time of clock_monotonic_ns(). */
uint64_t clock_coarse_ns(void);

/* CPU time of the calling thread, and of the process, in nanoseconds. */
uint64_t clock_cpu_ns(void);
uint64_t clock_process_cpu_ns(void);

/* True when a clock can be read from memory, without a system call. */
bool clock_is_memory(void);

/* True when a thread of the process may get SIGSEGV from reading the timestamp counter, because the thread or its
 * creator used PR_SET_TSC of prctl(2). The image has its own flag, which is never set: its threads permit
 * themselves the counter. */
extern atomic_bool clock_ticks_forbidden __attribute__((visibility("hidden")));

/* From now on read no clock by the counter, and the counter only in threads that may read it. Any thread, before the
 * call that forbids it. */
void clock_forbid_ticks(void);

/* Permit the counter to the calling thread, which is the agent's. A thread without that permission may have created
 * it. */
void clock_permit_ticks(void);

/* True when the kernel forbids the counter to the calling thread. */
bool clock_ticks_fault(void);

/* clock_ticks() when some thread may not read the counter: permits it to the calling thread for the read. */
uint64_t clock_ticks_permitted(void);

/* The processor's timestamp counter: the unit of all times in a recording. */
static inline uint64_t clock_ticks(void)
{
	if (__builtin_expect(atomic_load_explicit(&clock_ticks_forbidden, memory_order_relaxed), 0))
		return clock_ticks_permitted();
	return arch_ticks();
}

#endif
