/* Temporary files with a hidden name. */
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
#include "upload/files/dir.h"

#define PREFIX ".asprof-agent."

/* Names may be taken: two containers may share a directory and a pid, and profiles a second. */
#define TRIES_MAX 1000

/* A live writer holds no lock between creating and locking the file, and between unlocking and
 * renaming it. On file systems without locks only the long limit protects it. */
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
	/* Unlock explicitly: a forked child may hold the descriptor as well. */
	flock(fd, LOCK_UN);
	/* Fails for an exceeded quota, or for a network file system that writes late. */
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlinkat(dir, name, 0);
	return err;
}

int temporary_rename(int dir, const char *temporary, const struct report *report,
		     char name[NAME_FILE_SIZE])
{
	int err = -EEXIST;

	for (unsigned int try = 0; err == -EEXIST && try < TRIES_MAX; try++) {
		name_file(name, report, NAME_PROFILE, try);
		err = dir_rename_new(dir, temporary, name);
	}
	return err;
}

bool temporary_is(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX));
}

static bool temporary_is_locked(int dir, const char *name)
{
	int fd = fd_raise(openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
	bool locked = true; /* unless the lock proves otherwise */

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
