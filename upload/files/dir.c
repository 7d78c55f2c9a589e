/* Directories that the agent writes to: create, open and check. */
#include "upload/files/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/executable.h"
#include "core/fd.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

static int dir_open(int at, const char *path, int flags)
{
	return fd_raise(openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
}

/* The open that follows reports whether a directory exists, so only the last error matters. */
static int dir_make_parents(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t length = strlen(path);
	int err = 0;

	if (length >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		err = mkdir(part, mode) ? -errno : 0;
	}
	return err;
}

int dir_make(const char *path, mode_t mode)
{
	int fd, err;

	fd = dir_open(AT_FDCWD, path, 0);
	if (fd != -ENOENT || process_root_has_changed())
		return fd;
	err = dir_make_parents(path, mode);
	fd = dir_open(AT_FDCWD, path, 0);
	return fd == -ENOENT && err ? err : fd;
}

static int dir_make_private_at(int at, const char *name)
{
	struct stat st;
	int fd, err;

	if (!process_root_has_changed() && mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	fd = dir_open(at, name, O_NOFOLLOW);
	if (fd < 0) {
		/* open(2) returns ENOTDIR for a link as well as for a regular file. */
		if (fd == -ENOTDIR && !fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISLNK(st.st_mode))
			fd = -ELOOP;
		return fd;
	}
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && st.st_uid != geteuid())
		err = -EPERM;
	if (!err && st.st_mode & 077)
		err = -EACCES;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int dir_make_private(const char *parent, const char *name)
{
	int at = dir_open(AT_FDCWD, parent, 0), fd;

	if (at < 0)
		return at;
	fd = dir_make_private_at(at, name);
	close(at);
	return fd;
}

int dir_make_trusted(const char *path)
{
	int at = dir_make(path, 0700), fd = at;
	struct stat st;
	char name[16];

	if (at < 0)
		return at;
	if (fstat(at, &st)) {
		fd = -errno;
	} else if (st.st_uid != geteuid() && st.st_uid != 0) {
		fd = -EPERM;
	} else if (st.st_mode & 022) {
		snprintf(name, sizeof(name), "%u", geteuid());
		fd = dir_make_private_at(at, name);
	}
	if (fd != at)
		close(at);
	return fd;
}

DIR *dir_list(int dir, int *err)
{
	int fd = dir_open(dir, ".", 0);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);

	*err = listing ? 0 : fd < 0 ? fd : -ENOMEM;
	if (!listing && fd >= 0)
		close(fd);
	return listing;
}

int dir_rename_new(int dir, const char *from, const char *to)
{
	int err;

	if (!syscall(SYS_renameat2, dir, from, dir, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != EPERM)
		return -errno;

	/* The file system or kernel lacks it. link(2) also fails if the name is taken. */
	if (linkat(dir, from, dir, to, 0))
		err = -errno;
	else
		err = unlinkat(dir, from, 0) ? -errno : 0;
	if (err != -EPERM && err != -EOPNOTSUPP && err != -ENOSYS)
		return err;

	/* No hard links: check and rename are two steps, so a race remains. */
	if (!faccessat(dir, to, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(dir, from, dir, to) ? -errno : 0;
}
