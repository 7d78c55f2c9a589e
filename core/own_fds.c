/* A descriptor table for the agent's threads, apart from the program's. */
#include "core/own_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Source: linux/close_range.h, which is younger than the systems that we are built on. */
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

static __thread enum { UNKNOWN, APART, WITH_THE_PROGRAM } place;

/* A pipe that nothing but our table holds tells it from any other. */
static struct {
	atomic_bool set;
	int fd;
	dev_t dev;
	ino_t ino;
} mark;

static int copy(int fd)
{
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int copied, err;

	if (process < 0)
		return -errno;
	copied = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	err = -errno;
	close(process);
	return copied < 0 ? err : copied;
}

/* /proc/self is the main thread, whose table is the program's. */
static int open_anew(int fd)
{
	char path[32];
	int opened;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (opened >= 0)
		return opened;
	return errno == ENOENT ? -EBADF : -errno;
}

int own_fds_of_program(int fd)
{
	return prctl(PR_GET_SECCOMP) ? open_anew(fd) : copy(fd);
}

/* Libraries write their last words to 2, whatever that is. Reads and writes of these fail, as of
 * numbers that are closed. */
static void take_standard_numbers(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	while (fd >= 0 && fd < STDERR_FILENO)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static void set_mark(void)
{
	struct stat st;
	int ends[2];

	atomic_store(&mark.set, false);
	if (pipe2(ends, O_CLOEXEC))
		return; /* then only threads that were told know where they are */
	close(ends[1]);
	if (fstat(ends[0], &st))
		return;
	mark.fd = ends[0];
	mark.dev = st.st_dev;
	mark.ino = st.st_ino;
	atomic_store(&mark.set, true);
}

int own_fds_leave(void)
{
	if (own_fds_apart())
		return 0;
	/* From 0 on: not even for a moment is there a second holder of the program's pipes. */
	if (syscall(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE))
		return -errno;
	place = APART;
	take_standard_numbers();
	set_mark();
	return 0;
}

static bool sees_mark(void)
{
	struct stat st;
	int saved = errno;
	bool sees = !fstat(mark.fd, &st) && st.st_dev == mark.dev && st.st_ino == mark.ino;

	errno = saved;
	return sees;
}

bool own_fds_apart(void)
{
	if (place == UNKNOWN && atomic_load(&mark.set))
		place = sees_mark() ? APART : WITH_THE_PROGRAM;
	return place == APART;
}

void own_fds_inherit(bool is_apart)
{
	place = is_apart ? APART : UNKNOWN;
}
