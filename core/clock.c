/* Clocks: monotonic time, wall-clock time, CPU time, and the timestamp counter. */
#include "core/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "core/kernel.h"
#include "core/vdso.h"

typedef int clock_reader(clockid_t clock, struct timespec *now);

static int clock_read_by_syscall(clockid_t clock, struct timespec *now)
{
	return (int)kernel_call4(SYS_clock_gettime, clock, (long)now, 0, 0);
}

/* Found once. Threads that search at the same time find the same function. */
static clock_reader *clock_find_reader(void)
{
	void *found = vdso_function(ARCH_VDSO_CLOCK);

	return found ? (clock_reader *)found : clock_read_by_syscall;
}

static clock_reader *clock_cached_reader(void)
{
	static clock_reader *_Atomic known;
	clock_reader *read = atomic_load_explicit(&known, memory_order_relaxed);

	if (!read) {
		read = clock_find_reader();
		atomic_store_explicit(&known, read, memory_order_relaxed);
	}
	return read;
}

/* The vDSO's function reads the counter, which may be forbidden. */
static clock_reader *clock_permitted_reader(void)
{
	return atomic_load_explicit(&clock_ticks_forbidden, memory_order_relaxed)
		       ? clock_read_by_syscall
		       : clock_cached_reader();
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
	return clock_time_ns(&now);
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

uint64_t clock_process_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

atomic_bool clock_ticks_forbidden;

static long clock_set_tick_mode(long mode)
{
	return kernel_call6(SYS_prctl, PR_SET_TSC, mode, 0, 0, 0, 0);
}

void clock_forbid_ticks(void)
{
	atomic_store(&clock_ticks_forbidden, true);
}

void clock_permit_ticks(void)
{
	if (atomic_load(&clock_ticks_forbidden))
		clock_set_tick_mode(PR_TSC_ENABLE);
}

bool clock_ticks_fault(void)
{
	int mode = PR_TSC_ENABLE;

	return !kernel_call6(SYS_prctl, PR_GET_TSC, (long)&mode, 0, 0, 0, 0) &&
	       mode == PR_TSC_SIGSEGV;
}

uint64_t clock_ticks_permitted(void)
{
	static _Atomic uint64_t last;
	uint64_t ticks;

	if (!clock_ticks_fault())
		return arch_ticks();
	if (clock_set_tick_mode(PR_TSC_ENABLE))
		return atomic_load(&last); /* a seccomp filter forbids the call */
	ticks = arch_ticks();
	clock_set_tick_mode(PR_TSC_SIGSEGV);
	atomic_store(&last, ticks);
	return ticks;
}
