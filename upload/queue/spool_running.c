/* Running recordings in a spool: made, found and counted. */
#include "upload/queue/spool_running.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "upload/files/dir.h"
#include "upload/files/name.h"
#include "upload/files/temporary.h"

#define TRIES_MAX 1000

/* Hidden, as they are no profiles yet. The longest of the names has to fit. */
#define ROOM ("." RUNNING_CHUNKS)

static int spool_running_make_note(struct running_files *files, const struct report *whom)
{
	char temporary[NAME_FILE_SIZE], file[NAME_FILE_SIZE],
		name[sizeof(files->name) + sizeof(ROOM)];
	int fd = temporary_create(files->dir, 0600, temporary), err = -EEXIST;

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB))
		err = -ENOLCK;
	for (unsigned int try = 0; err == -EEXIST && try < TRIES_MAX; try++) {
		name_file(file, whom, ROOM, try);
		snprintf(files->name, sizeof(files->name), ".%.*s",
			 (int)(strlen(file) - strlen(ROOM)), file);
		snprintf(name, sizeof(name), "%s%s", files->name, RUNNING_NOTE);
		err = dir_rename_new(files->dir, temporary, name);
	}
	if (!err) {
		files->journal = fd;
		return 0;
	}
	unlinkat(files->dir, temporary, 0);
	close(fd);
	return err;
}

static int spool_running_create(const struct running_files *files, const char *end)
{
	char name[sizeof(files->name) + sizeof(ROOM)];

	snprintf(name, sizeof(name), "%s%s", files->name, end);
	unlinkat(files->dir, name, 0); /* of one whose journal is gone */
	return fd_raise(openat(files->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static void remove_all(const struct running_files *files)
{
	static const char *const ends[] = { RUNNING_CHUNKS, RUNNING_MEMORY, RUNNING_NOTE };
	const int fds[] = { files->chunks, files->memory, files->journal };
	char name[sizeof(files->name) + sizeof(ROOM)];

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", files->name, ends[i]);
		if (fds[i] < 0)
			continue;
		unlinkat(files->dir, name, 0);
		close(fds[i]);
	}
	if (files->dir >= 0)
		close(files->dir);
}

int spool_running_make(struct running_files *files, int dir, const struct report *whom)
{
	int err;

	*files = (struct running_files)RUNNING_FILES_NONE;
	files->dir = fd_raise(fcntl(dir, F_DUPFD_CLOEXEC, 0));
	err = files->dir < 0 ? files->dir : spool_running_make_note(files, whom);
	if (!err)
		files->chunks = spool_running_create(files, RUNNING_CHUNKS);
	if (!err)
		files->memory = spool_running_create(files, RUNNING_MEMORY);
	if (!err && (files->chunks < 0 || files->memory < 0))
		err = files->chunks < 0 ? files->chunks : files->memory;
	if (err)
		remove_all(files);
	return err;
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), behind = strlen(end);

	return name[0] == '.' && length > behind + 1 && !strcmp(name + length - behind, end);
}

bool spool_running_is_note(const char *name)
{
	int64_t ignored;

	return ends_with(name, RUNNING_NOTE) && name_parse(name + 1, RUNNING_NOTE, &ignored);
}

uint64_t spool_running_bytes(int dir)
{
	int fd = fd_raise(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	while (listing && (entry = readdir(listing))) {
		const char *name = entry->d_name;

		if (!ends_with(name, RUNNING_CHUNKS) && !ends_with(name, RUNNING_MEMORY) &&
		    !ends_with(name, RUNNING_NOTE))
			continue;
		if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
		    st.st_uid == geteuid())
			bytes += (uint64_t)st.st_blocks * 512;
	}
	if (listing)
		closedir(listing);
	else if (fd >= 0)
		close(fd);
	return bytes;
}
