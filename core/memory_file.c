/* Files without a name. */
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

/* How many names are tried, each of which another process may have. */
#define TRIES 8

/* Memory first. */
static const char *const directories[] = { "/dev/shm", "/tmp", "/var/tmp" };

/* By a name that nobody else has, and that is taken away at once. */
static int memory_file_create_unlinked(const char *directory)
{
	char path[PATH_MAX];
	int fd = -EEXIST;

	for (int i = 0; i < TRIES && fd == -EEXIST; i++) {
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

	/* Kernels before 3.11 take it for a directory that is to be written to, and some file systems
	 * have no such files. */
	if (fd == -EISDIR || fd == -EOPNOTSUPP || fd == -EINVAL || fd == -ENOENT)
		fd = memory_file_create_unlinked(directory);
	return fd;
}

int memory_file_open(const char *name)
{
	int fd = fd_raise(memfd_create(name, MFD_CLOEXEC)), err = fd;

	/* What the process may not have more of, it may not have elsewhere. */
	if (fd != -ENOSYS && fd != -EPERM && fd != -EACCES)
		return fd;
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]) && fd < 0; i++)
		fd = memory_file_open_in(directories[i]);
	return fd < 0 ? err : fd;
}
