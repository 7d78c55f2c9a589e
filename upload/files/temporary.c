/* Files under a hidden name, so that nobody takes a half of one for a profile. */
#include "upload/files/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"

#define PREFIX ".asprof-agent."

/* Two containers may share a directory and a pid. */
#define TRIES_MAX 1000

/* Between making a file and locking it, and between unlocking and naming it, a writer is there
 * without a lock. And where locks are not to be had, a long silence has to do. */
#define UNLOCKED_MAX_SECONDS 60
#define SILENT_MAX_SECONDS   3600

int temporary_create(int dir, mode_t mode, char name[NAME_FILE_SIZE])
{
	static atomic_uint serial;
	int fd = -EEXIST;

	for (unsigned int i = 0; fd == -EEXIST && i < TRIES_MAX; i++) {
		snprintf(name, NAME_FILE_SIZE, PREFIX "%d.%u", (int)getpid(),
			 atomic_fetch_add(&serial, 1));
		fd = fd_raise(openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
	}
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

int temporary_close(int dir, const char *name, int fd, int err)
{
	/* Said outright: a forked child may hold the descriptor as well. */
	flock(fd, LOCK_UN);
	/* A quota, or a server of files that was asked late. */
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlinkat(dir, name, 0);
	return err;
}

bool temporary_is(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX));
}

static bool temporary_is_locked(int dir, const char *name)
{
	int fd = fd_raise(openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
	bool locked = true; /* as far as anybody can tell */

	if (fd < 0)
		return locked;
	locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
	flock(fd, LOCK_UN);
	close(fd);
	return locked;
}

void temporary_sweep(int dir, const char *name)
{
	struct stat st;
	int64_t age;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid())
		return;
	age = (int64_t)(clock_realtime_ns() / 1000000000u) - st.st_mtime;
	if (age > SILENT_MAX_SECONDS ||
	    (age > UNLOCKED_MAX_SECONDS && !temporary_is_locked(dir, name)))
		unlinkat(dir, name, 0);
}
