/* Running recordings in a spool: create, find and count the files. */
#include "upload/queue/spool_running.h"

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

/* Hidden, because they are not profiles yet. ROOM is the longest suffix. */
#define ROOM ("." RUNNING_CHUNKS)

static int spool_running_make_note(struct running_files *files, const struct report *report)
{
	char temporary[NAME_FILE_SIZE], file[NAME_FILE_SIZE],
		name[sizeof(files->name) + sizeof(ROOM)];
	int fd = temporary_create(files->dir, 0600, temporary), err = -EEXIST;

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB))
		err = -ENOLCK;
	for (unsigned int try = 0; err == -EEXIST && try < TRIES_MAX; try++) {
		name_file(file, report, ROOM, try);
		snprintf(files->name, sizeof(files->name), ".%.*s",
			 (int)(strlen(file) - strlen(ROOM)), file);
		snprintf(name, sizeof(name), "%s%s", files->name, RUNNING_NOTE);
		err = dir_rename_new(files->dir, temporary, name);
	}
	if (!err) {
		files->note = fd;
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
	unlinkat(files->dir, name, 0); /* left over from a recording without a note */
	return fd_raise(openat(files->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

void spool_running_unlink(int dir, const char *name)
{
	static const char *const ends[] = { RUNNING_CHUNKS, RUNNING_MEMORY, RUNNING_NOTE };
	char file[NAME_FILE_SIZE + sizeof(ROOM)];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(file, sizeof(file), "%s%s", name, ends[i]);
		unlinkat(dir, file, 0);
	}
}

static void spool_running_remove(const struct running_files *files)
{
	const int fds[] = { files->chunks, files->memory, files->note, files->dir };

	/* The name belongs to this process once it has the note. */
	if (files->note >= 0)
		spool_running_unlink(files->dir, files->name);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int spool_running_make(struct running_files *files, int dir, const struct report *report)
{
	int err;

	*files = (struct running_files)RUNNING_FILES_NONE;
	files->dir = fd_raise(fcntl(dir, F_DUPFD_CLOEXEC, 0));
	err = files->dir < 0 ? files->dir : spool_running_make_note(files, report);
	if (!err)
		files->chunks = spool_running_create(files, RUNNING_CHUNKS);
	if (!err)
		files->memory = spool_running_create(files, RUNNING_MEMORY);
	if (!err && (files->chunks < 0 || files->memory < 0))
		err = files->chunks < 0 ? files->chunks : files->memory;
	if (err)
		spool_running_remove(files);
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
	int err;
	DIR *listing = dir_list(dir, &err);
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
	return bytes;
}
