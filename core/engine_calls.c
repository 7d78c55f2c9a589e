/* What async-profiler calls instead of the C library's functions. */
#include "core/engine_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/engine_env.h"
#include "core/engine_sleep.h"
#include "core/fd.h"
#include "core/imports.h"
#include "core/log.h"

/* FD moved out of the program's way; -1 and errno as open(2) has it. */
static int raised(int fd)
{
	fd = fd_raise(fd);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

/* It would raise the limit at its start, as it takes a descriptor for each thread. The program, and
 * all that it starts, would see that; so it is done when they do not suffice. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int engine_setrlimit(unsigned int resource, const struct rlimit *limit)
{
	return resource == RLIMIT_NOFILE ? 0 : setrlimit((__rlimit_resource_t)resource, limit);
}

/* Under a filter the one call that hardly a service needs may mean death: systemd's own set for
 * services is without it. Where it fails async-profiler takes timers instead. */
static bool may_have_perf_events(void)
{
	if (prctl(PR_GET_SECCOMP) == SECCOMP_MODE_DISABLED)
		return true;
	errno = EPERM;
	return false;
}

/* By the calling conventions of Linux the six arguments are where a variadic function's are;
 * those that a call does not have are passed on as what happens to be there, as in syscall(2). */
static long engine_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	int fd;

	if (number == SYS_perf_event_open && !may_have_perf_events())
		return -1;
	if (number != SYS_perf_event_open && number != SYS_memfd_create)
		return syscall(number, a, b, c, d, e, f);
	fd = raised((int)syscall(number, a, b, c, d, e, f));
	if (fd < 0 && errno == EMFILE) {
		raise_limit(); /* unless another thread has */
		fd = raised((int)syscall(number, a, b, c, d, e, f));
	}
	return fd;
}

/* MODE is looked at only where FLAGS have O_CREAT. */
static int engine_open(const char *path, int flags, mode_t mode)
{
	return raised(open(path, flags | O_CLOEXEC, mode));
}

static int engine_creat(const char *path, mode_t mode)
{
	return engine_open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static FILE *engine_fopen(const char *path, const char *mode)
{
	FILE *file;
	int fd;

	if (strcmp(mode, "r"))
		return fopen(path, mode); /* it only reads in this way */
	fd = engine_open(path, O_RDONLY, 0);
	file = fd < 0 ? NULL : fdopen(fd, mode);
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static DIR *engine_opendir(const char *path)
{
	int fd = engine_open(path, O_RDONLY | O_DIRECTORY, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

static atomic_bool is_child;

void engine_calls_forget(void)
{
	atomic_store(&is_child, true);
}

/* Between commands, and while it starts, it writes its log on standard output. In a forked child it
 * goes on writing of each thread and library into the recording, which is the parent's. */
static ssize_t engine_write(int fd, const void *data, size_t length)
{
	const char *text = data;
	int shown = (int)length;

	if (atomic_load_explicit(&is_child, memory_order_relaxed))
		return (ssize_t)length;
	if (fd != STDOUT_FILENO)
		return write(fd, data, length);
	while (shown && text[shown - 1] == '\n')
		shown--;
	log_info("async-profiler: %.*s", shown, text);
	return (ssize_t)length;
}

int engine_calls_redirect(const void *inside)
{
	static const struct import calls[] = {
		{ "syscall", (void *)engine_syscall },
		{ "open", (void *)engine_open },
		{ "open64", (void *)engine_open },
		{ "creat", (void *)engine_creat },
		{ "creat64", (void *)engine_creat },
		{ "fopen", (void *)engine_fopen },
		{ "fopen64", (void *)engine_fopen },
		{ "opendir", (void *)engine_opendir },
		{ "setrlimit", (void *)engine_setrlimit },
		{ "setrlimit64", (void *)engine_setrlimit },
		{ "write", (void *)engine_write },
		{ "getenv", (void *)engine_getenv },
		{ "clock_nanosleep", (void *)engine_sleep },
		{ "pthread_kill", (void *)engine_wake },
	};

	return imports_redirect(inside, calls, sizeof(calls) / sizeof(calls[0]));
}
