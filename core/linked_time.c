/* What the libraries that are linked in, and we, call for the time: the linker has the preload's calls
 * of these functions end here (--wrap). They ask the kernel, and nobody who stands between. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "core/clock.h"
#include "core/kernel.h"

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_gettimeofday(struct timeval *now, void *zone);
time_t __wrap_time(time_t *now);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_stat(const char *path, struct stat *status);
int __wrap_lstat(const char *path, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_fstatat(int dir, const char *path, struct stat *status, int flags);

static int result(long value)
{
	if (value >= 0)
		return 0;
	errno = (int)-value;
	return -1;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	return result(clock_read(clock, now));
}

int __wrap_gettimeofday(struct timeval *now, void *zone)
{
	struct timespec time;

	(void)zone;
	if (clock_read(CLOCK_REALTIME, &time))
		return -1;
	*now = (struct timeval){ .tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000 };
	return 0;
}

time_t __wrap_time(time_t *now)
{
	struct timespec time = { 0 };

	clock_read(CLOCK_REALTIME, &time);
	if (now)
		*now = time.tv_sec;
	return time.tv_sec;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
	return result(kernel_call4(SYS_nanosleep, (long)time, (long)rest, 0, 0));
}

/* The times of files are compared with the clock, so they are the kernel's too. */
int __wrap_fstatat(int dir, const char *path, struct stat *status, int flags)
{
	return result(kernel_call4(SYS_newfstatat, dir, (long)path, (long)status, flags));
}

int __wrap_stat(const char *path, struct stat *status)
{
	return __wrap_fstatat(AT_FDCWD, path, status, 0);
}

int __wrap_lstat(const char *path, struct stat *status)
{
	return __wrap_fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int __wrap_fstat(int fd, struct stat *status)
{
	return result(kernel_call4(SYS_fstat, fd, (long)status, 0, 0));
}
