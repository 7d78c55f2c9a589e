/* System calls of the host's side.
 *
 * They work in threads that the program's C library does not know: without errno, other thread-local data, locks or
 * allocators of that library. Async-signal-safe. */
#ifndef CORE_SYSTEM_H
#define CORE_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#include "core/kernel.h"

/* Allocate BYTES of zeroed memory; only pages that are written use memory. Returns NULL on failure. After the region
 * (core/memory/region.h) is reserved, the memory is in it. */
void *system_map(size_t bytes);

void system_unmap(void *memory, size_t bytes);

/* Linux 4.17; not in older headers. */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Map BYTES of address space without access at ADDRESS, or where the kernel chooses (NULL). FLAGS are further MAP_...
 * flags. Returns the address or -errno. */
static inline long system_reserve(void *address, size_t bytes, int flags)
{
	return kernel_call6(SYS_mmap, (long)address, (long)bytes, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

/* Zero the memory and free its pages, unless the program has locked them (mlockall(2)). */
static inline void system_empty(void *memory, size_t bytes)
{
	if (!kernel_call4(SYS_madvise, (long)memory, (long)bytes, MADV_DONTNEED, 0))
		return;
	for (size_t i = 0; i < bytes; i++)
		((volatile char *)memory)[i] = 0;
}

/* A forked child finds zeroes there, if the kernel supports it, and fork(2) copies less. */
static inline void system_empty_in_children(void *memory, size_t bytes)
{
	kernel_call4(SYS_madvise, (long)memory, (long)bytes, MADV_WIPEONFORK, 0);
}

static inline pid_t system_thread(void)
{
	return (pid_t)kernel_call4(SYS_gettid, 0, 0, 0, 0);
}

/* The kernel's default. */
#define SYSTEM_TIMER_SLACK_NS 50000

/* Give the calling own thread ordinary scheduling. It works for long periods, so it does not inherit a real-time
 * priority from the program. Its timers are exact even if the program's may be late to save power. A lower priority
 * is kept. */
static inline void system_thread_reset_scheduling(void)
{
	static const int of_no_priority = 0;
	long policy = kernel_call4(SYS_sched_getscheduler, 0, 0, 0, 0) & ~(long)SCHED_RESET_ON_FORK;

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		kernel_call4(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&of_no_priority, 0);
	kernel_call4(SYS_prctl, PR_SET_TIMERSLACK, SYSTEM_TIMER_SLACK_NS, 0, 0);
}

/* Shortest slice that the kernel accepts. */
#define SYSTEM_SHORT_SLICE_NS 100000u

/* Let the calling own thread run soon after it wakes, also on a busy processor (Linux 6.12 and later: a task with a
 * shorter slice preempts). Its share of the processor stays the same. With the default slice, a wall-clock visit waits
 * until the program's thread on this processor sleeps, so it never finds that thread running.
 * Source: Documentation/scheduler/sched-eevdf.rst. */
static inline void system_thread_shorten_slice(void)
{
	/* struct sched_attr in its first version, see sched_setattr(2). */
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr) };

	if (kernel_call4(SYS_sched_getattr, 0, (long)&attr, sizeof(attr), 0) ||
	    attr.policy != SCHED_OTHER)
		return;
	attr.runtime = SYSTEM_SHORT_SLICE_NS;
	kernel_call4(SYS_sched_setattr, 0, (long)&attr, 0, 0);
}

static inline pid_t system_process(void)
{
	return (pid_t)kernel_call4(SYS_getpid, 0, 0, 0, 0);
}

/* The effective user. */
static inline uid_t system_user(void)
{
	return (uid_t)kernel_call4(SYS_geteuid, 0, 0, 0, 0);
}

/* True when this process has no thread TID any more. */
static inline bool system_thread_is_gone(pid_t tid)
{
	return kernel_call4(SYS_tgkill, system_process(), tid, 0, 0) == -ESRCH;
}

/* Sleep for less than a second; a signal may end the sleep. */
static inline void system_sleep(long ns)
{
	struct timespec time = { .tv_nsec = ns };

	kernel_call4(SYS_nanosleep, (long)&time, 0, 0, 0);
}

static inline void system_yield(void)
{
	kernel_call4(SYS_sched_yield, 0, 0, 0, 0);
}

/* openat(2) from the working directory. Returns the descriptor or -errno. */
static inline int system_open(const char *path, int flags, mode_t mode)
{
	return (int)kernel_call4(SYS_openat, AT_FDCWD, (long)path, flags, (long)mode);
}

/* readlink(2). Returns the length or -errno. */
static inline long system_read_link(const char *path, char *target, size_t size)
{
	return kernel_call4(SYS_readlinkat, AT_FDCWD, (long)path, (long)target, (long)size);
}

/* fstat(2). Returns 0 or -errno. */
static inline int system_stat(int fd, struct stat *st)
{
	return (int)kernel_call4(SYS_fstat, fd, (long)st, 0, 0);
}

/* Both return the bytes moved or -errno. */
static inline ssize_t system_write(int fd, const void *data, size_t size)
{
	return (ssize_t)kernel_call4(SYS_write, fd, (long)data, (long)size, 0);
}

static inline ssize_t system_read(int fd, void *data, size_t size)
{
	return (ssize_t)kernel_call4(SYS_read, fd, (long)data, (long)size, 0);
}

static inline void system_close(int fd)
{
	kernel_call4(SYS_close, fd, 0, 0, 0);
}

/* Get a limit RLIMIT_... of this process. Returns 0 or -errno. */
static inline int system_limit(int which, struct rlimit *limit)
{
	return (int)kernel_call4(SYS_prlimit64, 0, which, 0, (long)limit);
}

#endif
