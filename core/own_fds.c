/* Separate descriptor table of the agent's threads. */
#include "core/own_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/format.h"
#include "core/system.h"

/* Source: linux/close_range.h, which older build systems do not have. */
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

static __thread enum own_fds current;

static int program_fd_duplicate(int fd)
{
	int process = (int)kernel_call4(SYS_pidfd_open, system_process(), 0, 0, 0), copied;

	if (process < 0)
		return process;
	copied = (int)kernel_call4(SYS_pidfd_getfd, process, fd, 0, 0);
	system_close(process);
	return copied;
}

/* /proc/self is the main thread, which uses the program's table. */
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

/* Open descriptors 0 to 2, because libraries write to 2 unconditionally. Reads and writes of these fail as if they
 * were closed. */
static void standard_fds_occupy(void)
{
	int fd = system_open("/", O_PATH | O_CLOEXEC, 0);

	while (fd >= 0 && fd < STDERR_FILENO)
		fd = (int)kernel_call4(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0, 0);
}

static int fd_table_unshare(enum own_fds table)
{
	int err;

	if (current == table)
		return 0;
	/* Close from 0 on in the same call, so that no second reference to the program's pipes ever exists. */
	err = (int)kernel_call4(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE, 0);
	if (err)
		return err;
	current = table;
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
	return current;
}

void own_fds_inherit(enum own_fds fds)
{
	current = fds;
}
