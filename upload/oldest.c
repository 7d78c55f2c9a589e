/* Looks through a directory for the oldest of our profiles. */
#include "upload/oldest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "upload/temporary.h"

/* The order of age: profiles of one second by name, so that the order is one. */
static bool older(const struct oldest_file *file, int64_t seconds, const char *name)
{
	if (file->seconds != seconds)
		return file->seconds < seconds;
	return strcmp(file->name, name) < 0;
}

static void remember(struct oldest *out, const char *name, int64_t seconds, uint64_t bytes)
{
	size_t at = out->count;

	while (at && !older(&out->files[at - 1], seconds, name))
		at--;
	if (at == OLDEST_MAX)
		return;
	if (out->count < OLDEST_MAX)
		out->count++;
	memmove(&out->files[at + 1], &out->files[at],
		(out->count - 1 - at) * sizeof(out->files[0]));
	out->files[at].seconds = seconds;
	out->files[at].bytes = bytes;
	strcpy(out->files[at].name, name); /* look_at() has seen that it fits */
}

static void look_at(struct oldest *out, int dir, const struct oldest_file *after, const char *name)
{
	int64_t seconds;
	struct stat st;

	if (temporary_is(name))
		temporary_sweep(dir, name);
	if (!name_parse(name, &seconds))
		return;
	if (strlen(name) >= NAME_FILE_SIZE || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return;
	out->total += (uint64_t)st.st_size;
	if (!after || older(after, seconds, name))
		remember(out, name, seconds, (uint64_t)st.st_size);
}

int oldest_scan(struct oldest *out, int dir, const struct oldest_file *after)
{
	struct dirent *entry;
	DIR *listing;
	int fd;

	out->total = 0;
	out->count = 0;
	/* A descriptor of its own: closedir() closes it, and readers do not share a position. */
	fd = fd_raise(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0)
		return fd;
	listing = fdopendir(fd);
	if (!listing) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(listing)))
		if (!after || strcmp(entry->d_name, after->name) != 0)
			look_at(out, dir, after, entry->d_name);
	closedir(listing);
	return 0;
}
