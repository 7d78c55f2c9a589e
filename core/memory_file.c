/* Unnamed files. */
#include "core/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/random.h"

/* Attempts with random names, which another process may also have chosen. */
#define ATTEMPTS_MAX 8

/* File systems in memory come first. */
static const char *const directories[] = { "/dev/shm", "/tmp", "/var/tmp" };

/* Create a file with a random name and unlink it at once. */
static int memory_file_create_unlinked(const char *directory)
{
	char path[PATH_MAX];
	int fd = -EEXIST;

	for (int i = 0; i < ATTEMPTS_MAX && fd == -EEXIST; i++) {
		int length = snprintf(path, sizeof(path), "%s/.asprof-agent-%016llx", directory,
				      (unsigned long long)random_below(UINT64_MAX));

		if (length >= (int)sizeof(path))
			return -ENAMETOOLONG;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			fd = -errno;
		else
			unlink(path);
	}
	return fd_raise_result(fd);
}

int memory_file_open_in(const char *directory)
{
	int fd = fd_raise(open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));

	/* Kernels before 3.11 treat this as opening a directory for writing. Some file systems do not support such
	 * files. */
	if (fd == -EISDIR || fd == -EOPNOTSUPP || fd == -EINVAL || fd == -ENOENT)
		fd = memory_file_create_unlinked(directory);
	return fd;
}

int memory_file_open(const char *name)
{
	int fd = fd_raise(memfd_create(name, MFD_CLOEXEC)), err = fd;

	/* For other errors, such as exceeded limits, other files would fail too. */
	if (fd != -ENOSYS && fd != -EPERM && fd != -EACCES)
		return fd;
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]) && fd < 0; i++)
		fd = memory_file_open_in(directories[i]);
	return fd < 0 ? err : fd;
}
