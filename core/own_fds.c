/* A descriptor table for the agent's threads, apart from the program's. */
#include "core/own_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Source: linux/close_range.h, which is younger than the systems that we are built on. */
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

static __thread bool apart;

int own_fds_of_program(int fd)
{
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int copy, err;

	if (process < 0)
		return -errno;
	copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	err = -errno;
	close(process);
	return copy < 0 ? err : copy;
}

/* Libraries write their last words to 2, whatever that is. Reads and writes of these fail, as of
 * numbers that are closed. */
static void take_standard_numbers(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	while (fd >= 0 && fd < STDERR_FILENO)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int own_fds_leave(void)
{
	int probe;

	if (prctl(PR_GET_SECCOMP))
		return -EPERM;
	/* What is said on stderr takes this call. */
	probe = own_fds_of_program(STDERR_FILENO);
	if (probe < 0 && probe != -EBADF)
		return probe;
	if (probe >= 0)
		close(probe);
	/* From 0 on: not even for a moment is there a second holder of the program's pipes. */
	if (syscall(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE))
		return -errno;
	apart = true;
	take_standard_numbers();
	return 0;
}

bool own_fds_apart(void)
{
	return apart;
}

void own_fds_inherit(bool is_apart)
{
	apart = is_apart;
}
