/* A descriptor table for the agent's threads, apart from the program's. */
#include "core/own_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/format.h"
#include "core/system.h"

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
	int process = (int)kernel_call4(SYS_pidfd_open, system_process(), 0, 0, 0), copied;

	if (process < 0)
		return process;
	copied = (int)kernel_call4(SYS_pidfd_getfd, process, fd, 0, 0);
	system_close(process);
	return copied;
}

/* /proc/self is the main thread, whose table is the program's. */
static int open_anew(int fd)
{
	char path[32];
	int opened;

	format_text(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = system_open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	return opened == -ENOENT ? -EBADF : opened;
}

int own_fds_of_program(int fd)
{
	return kernel_call4(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0) ? open_anew(fd) : copy(fd);
}

/* Libraries write their last words to 2, whatever that is. Reads and writes of these fail, as of
 * numbers that are closed. */
static void take_standard_numbers(void)
{
	int fd = system_open("/", O_PATH | O_CLOEXEC, 0);

	while (fd >= 0 && fd < STDERR_FILENO)
		fd = (int)kernel_call4(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0, 0);
}

static void set_mark(void)
{
	struct stat st;
	int ends[2];

	atomic_store(&mark.set, false);
	if (kernel_call4(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0))
		return; /* then only threads that were told know where they are */
	system_close(ends[1]);
	if (system_stat(ends[0], &st))
		return;
	mark.fd = ends[0];
	mark.dev = st.st_dev;
	mark.ino = st.st_ino;
	atomic_store(&mark.set, true);
}

int own_fds_leave(void)
{
	int err;

	if (own_fds_apart())
		return 0;
	/* From 0 on: not even for a moment is there a second holder of the program's pipes. */
	err = (int)kernel_call4(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE, 0);
	if (err)
		return err;
	place = APART;
	take_standard_numbers();
	set_mark();
	return 0;
}

static bool sees_mark(void)
{
	struct stat st;

	return !system_stat(mark.fd, &st) && st.st_dev == mark.dev && st.st_ino == mark.ino;
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
