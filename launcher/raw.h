/* System calls of the launcher, without a C library. Each returns the kernel's result or -errno. */
#ifndef LAUNCHER_RAW_H
#define LAUNCHER_RAW_H

#include <stddef.h>
#include <sys/syscall.h>

#include "core/kernel.h"

static inline long raw_call(long number, long a, long b, long c, long d, long e)
{
	return kernel_call6(number, a, b, c, d, e, 0);
}

static inline long raw_openat(const char *path, int flags)
{
	return raw_call(SYS_openat, -100 /* AT_FDCWD */, (long)path, flags, 0, 0);
}

/* Create the file PATH, which must not exist. */
static inline long raw_create(const char *path, int mode)
{
	return raw_call(SYS_openat, -100, (long)path, 0301 /* O_WRONLY | O_CREAT | O_EXCL */, mode,
			0);
}

static inline long raw_unlink(const char *path)
{
	return raw_call(SYS_unlinkat, -100, (long)path, 0, 0, 0);
}

static inline long raw_mkdir(const char *path)
{
	return raw_call(SYS_mkdirat, -100, (long)path, 0755, 0, 0);
}

static inline long raw_sendfile(int to, int from, size_t size)
{
	return raw_call(SYS_sendfile, to, from, 0, (long)size, 0);
}

static inline long raw_close(int fd)
{
	return raw_call(SYS_close, fd, 0, 0, 0, 0);
}

static inline long raw_read(int fd, void *data, size_t size)
{
	return raw_call(SYS_read, fd, (long)data, (long)size, 0, 0);
}

static inline long raw_pread(int fd, void *data, size_t size, long offset)
{
	return raw_call(SYS_pread64, fd, (long)data, (long)size, offset, 0);
}

static inline long raw_write(int fd, const void *data, size_t size)
{
	return raw_call(SYS_write, fd, (long)data, (long)size, 0, 0);
}

/* As access(2), for the real user. */
static inline long raw_access(const char *path, int mode)
{
	return raw_call(SYS_faccessat, -100, (long)path, mode, 0, 0);
}

static inline long raw_execve(const char *path, char *const *argv, char *const *envp)
{
	return raw_call(SYS_execve, (long)path, (long)argv, (long)envp, 0, 0);
}

static inline long raw_readlink(const char *path, char *target, size_t size)
{
	return raw_call(SYS_readlinkat, -100, (long)path, (long)target, (long)size, 0);
}

static inline long raw_getcwd(char *path, size_t size)
{
	return raw_call(SYS_getcwd, (long)path, (long)size, 0, 0, 0);
}

static inline long raw_pipe(int fds[2])
{
	return raw_call(SYS_pipe2, (long)fds, 0, 0, 0, 0);
}

static inline long raw_dup3(int from, int to)
{
	return raw_call(SYS_dup3, from, to, 0, 0, 0);
}

/* A child whose end sends no signal: SIGCHLD could stay pending in the program. */
static inline long raw_fork(void)
{
	return raw_call(SYS_clone, 0, 0, 0, 0, 0);
}

static inline long raw_wait(long pid, int *status)
{
	return raw_call(SYS_wait4, pid, (long)status, 0x40000000 /* __WALL */, 0, 0);
}

__attribute__((noreturn)) static inline void raw_exit(int status)
{
	for (;;)
		raw_call(SYS_exit_group, status, 0, 0, 0, 0);
}

#endif
