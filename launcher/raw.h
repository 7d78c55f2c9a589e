/* The system calls that the launcher makes, without a C library: each returns what the kernel does, a
 * result or -errno. */
#ifndef LAUNCHER_RAW_H
#define LAUNCHER_RAW_H

#include <stddef.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long raw_call(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

/* The kernel leaves argc, argv and envp on the stack, and no return address. */
#define RAW_START(function)                                  \
	__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n" \
		"\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall " #function "\n\thlt\n")
#elif defined(__aarch64__)
static inline long raw_call(long number, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}

#define RAW_START(function)                                         \
	__asm__(".globl _start\n_start:\n\tmov x29, #0\n"           \
		"\tmov x30, #0\n\tmov x0, sp\n\tbl " #function "\n" \
		"\tbrk #1\n")
#else
#error "no system calls for this processor"
#endif

static inline long raw_openat(const char *path, int flags)
{
	return raw_call(SYS_openat, -100 /* AT_FDCWD */, (long)path, flags, 0, 0);
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

/* Whether PATH may be used in MODE (of access(2)), 0 or -errno, by the real user. */
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

/* A child whose end sends no signal, which might still be pending, or be ignored, in the program. */
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
