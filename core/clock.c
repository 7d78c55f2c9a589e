/* Time, in the three forms that a profiler needs. */
#include "core/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "core/kernel.h"
#include "core/vdso.h"

#if defined(__x86_64__)
#define VDSO_NAME "__vdso_clock_gettime"
#elif defined(__aarch64__)
#define VDSO_NAME "__kernel_clock_gettime"
#endif

typedef int reader(clockid_t clock, struct timespec *now);

static int clock_read_by_syscall(clockid_t clock, struct timespec *now)
{
	return (int)kernel_call4(SYS_clock_gettime, clock, (long)now, 0, 0);
}

/* Looked for once; threads that do so together find the same. */
static reader *clock_find_reader(void)
{
	void *found = vdso_function(VDSO_NAME);

	return found ? (reader *)found : clock_read_by_syscall;
}

static reader *clock_permitted_reader(void)
{
	static reader *_Atomic known;
	reader *read = atomic_load_explicit(&known, memory_order_relaxed);

	if (!read) {
		read = clock_find_reader();
		atomic_store_explicit(&known, read, memory_order_relaxed);
	}
	return read;
}

int clock_read(clockid_t clock, struct timespec *now)
{
	return clock_permitted_reader()(clock, now);
}

bool clock_is_memory(void)
{
	return clock_permitted_reader() != clock_read_by_syscall;
}

static uint64_t read_clock(clockid_t id)
{
	struct timespec now = { 0 };

	clock_read(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_coarse_ns(void)
{
	return read_clock(CLOCK_MONOTONIC_COARSE);
}

uint64_t clock_realtime_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

unsigned arch_microsecond_shift(void)
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
