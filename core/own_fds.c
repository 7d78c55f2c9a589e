/* A descriptor table for the agent's threads, apart from the program's. */
#include "core/own_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/format.h"
#include "core/system.h"

/* Source: linux/close_range.h, which is younger than the systems that we are built on. */
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

static __thread enum own_fds here;

static int program_fd_duplicate(int fd)
{
	int process = (int)kernel_call4(SYS_pidfd_open, system_process(), 0, 0, 0), copied;

	if (process < 0)
		return process;
	copied = (int)kernel_call4(SYS_pidfd_getfd, process, fd, 0, 0);
	system_close(process);
	return copied;
}

/* /proc/self is the main thread, whose table is the program's. */
static int program_fd_reopen(int fd)
{
	char path[32];
	int opened;

	format_text(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = system_open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	return opened == -ENOENT ? -EBADF : opened;
}

int own_fds_of_program(int fd)
{
	return kernel_call4(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0) ? program_fd_reopen(fd)
								: program_fd_duplicate(fd);
}

/* Libraries write their last words to 2, whatever that is. Reads and writes of these fail, as of
 * numbers that are closed. */
static void standard_fds_occupy(void)
{
	int fd = system_open("/", O_PATH | O_CLOEXEC, 0);

	while (fd >= 0 && fd < STDERR_FILENO)
		fd = (int)kernel_call4(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0, 0);
}

static int fd_table_unshare(enum own_fds whose)
{
	int err;

	if (here == whose)
		return 0;
	/* From 0 on: not even for a moment is there a second holder of the program's pipes. */
	err = (int)kernel_call4(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE, 0);
	if (err)
		return err;
	here = whose;
	standard_fds_occupy();
	return 0;
}

int own_fds_leave(void)
{
	return fd_table_unshare(OWN_FDS_AGENT);
}

int own_fds_leave_for_engine(void)
{
	return fd_table_unshare(OWN_FDS_ENGINE);
}

enum own_fds own_fds_here(void)
{
	return here;
}

void own_fds_inherit(enum own_fds fds)
{
	here = fds;
}
