/* What the host's side asks of the system, by system calls of its own. It may be asked in a thread that
 * the program's C library does not know: errno and all else that is a thread's own is not there, and
 * no lock or allocator of that library may be touched. Async-signal-safe. */
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

/* As large as the pages of such a machine may be. */
#if defined(__x86_64__)
#define ARCH_PAGE_MAX 4096
#else
#define ARCH_PAGE_MAX 65536
#endif

/* BYTES of zeroed memory, which only takes what is written to; NULL when there is none. */
static inline void *system_map(size_t bytes)
{
	long result = kernel_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return result < 0 && result >= -4095 ? NULL : (void *)result;
}

static inline void system_unmap(void *memory, size_t bytes)
{
	kernel_call4(SYS_munmap, (long)memory, (long)bytes, 0, 0);
}

/* Make that zeroed again, and give its pages back, unless the program has locked them (mlockall(2)). */
static inline void system_empty(void *memory, size_t bytes)
{
	if (!kernel_call4(SYS_madvise, (long)memory, (long)bytes, MADV_DONTNEED, 0))
		return;
	for (size_t i = 0; i < bytes; i++)
		((volatile char *)memory)[i] = 0;
}

/* A forked child finds zeroes there (where the kernel can do it), and a fork has less to copy. */
static inline void system_empty_in_children(void *memory, size_t bytes)
{
	kernel_call4(SYS_madvise, (long)memory, (long)bytes, MADV_WIPEONFORK, 0);
}

static inline pid_t system_thread(void)
{
	return (pid_t)kernel_call4(SYS_gettid, 0, 0, 0, 0);
}

/* The kernel's own, where nobody chose another. */
#define SYSTEM_TIMER_SLACK_NS 50000

/* The calling thread, one of ours, becomes as threads are: where the program's have the processor before all others, it
 * has not, as it works for long at a time; and where the program's timers may be late, to save power, its are in time.
 * What is less than that stays. */
static inline void system_thread_be_ordinary(void)
{
	static const int of_no_priority = 0;
	long policy = kernel_call4(SYS_sched_getscheduler, 0, 0, 0, 0) & ~(long)SCHED_RESET_ON_FORK;

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		kernel_call4(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&of_no_priority, 0);
	kernel_call4(SYS_prctl, PR_SET_TIMERSLACK, SYSTEM_TIMER_SLACK_NS, 0, 0);
}

static inline pid_t system_process(void)
{
	return (pid_t)kernel_call4(SYS_getpid, 0, 0, 0, 0);
}

/* There is no thread TID in this process any more. */
static inline bool system_thread_is_gone(pid_t tid)
{
	return kernel_call4(SYS_tgkill, system_process(), tid, 0, 0) == -ESRCH;
}

/* Sleep for less than a second; a signal may end it. */
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

/* These two return the bytes moved or -errno. */
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

/* One of RLIMIT_..., of this process. Returns 0 or -errno. */
static inline int system_limit(int which, struct rlimit *limit)
{
	return (int)kernel_call4(SYS_prlimit64, 0, which, 0, (long)limit);
}

#endif
