/* Keeps a directory within bounds by removing its oldest profiles. */
#include "upload/limit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "upload/name.h"

/* How many of the oldest one pass over the directory remembers. */
#define CANDIDATES 64

/* A temporary file that was not written to for so long has no writer any more. */
#define TEMPORARY_MAX_SECONDS 3600

struct candidate {
	int64_t seconds;
	uint64_t bytes;
	char name[NAME_FILE_SIZE];
};

struct pass {
	int dir;
	int64_t oldest, now;
	const char *keep;
	uint64_t total;
	size_t count; /* candidates, oldest first */
	struct candidate candidates[CANDIDATES];
};

static bool older(const struct candidate *candidate, int64_t seconds, const char *name)
{
	if (candidate->seconds != seconds)
		return candidate->seconds < seconds;
	return strcmp(candidate->name, name) < 0;
}

static void remember(struct pass *pass, const char *name, int64_t seconds, uint64_t bytes)
{
	size_t at = pass->count;

	while (at && !older(&pass->candidates[at - 1], seconds, name))
		at--;
	if (at == CANDIDATES)
		return;
	if (pass->count < CANDIDATES)
		pass->count++;
	memmove(&pass->candidates[at + 1], &pass->candidates[at],
		(pass->count - 1 - at) * sizeof(pass->candidates[0]));
	pass->candidates[at].seconds = seconds;
	pass->candidates[at].bytes = bytes;
	strcpy(pass->candidates[at].name, name); /* name_parse() has seen it: see look_at() */
}

static void look_at(struct pass *pass, const char *name)
{
	bool temporary = !strncmp(name, LIMIT_TEMPORARY, strlen(LIMIT_TEMPORARY));
	int64_t seconds;
	struct stat st;

	if (!temporary && !name_parse(name, &seconds))
		return;
	if (strlen(name) >= NAME_FILE_SIZE || fstatat(pass->dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return;
	if (temporary) {
		if (st.st_mtime < pass->now - TEMPORARY_MAX_SECONDS)
			unlinkat(pass->dir, name, 0);
		return;
	}
	if (strcmp(name, pass->keep) != 0 && seconds < pass->oldest &&
	    !unlinkat(pass->dir, name, 0))
		return;
	pass->total += (uint64_t)st.st_size;
	if (strcmp(name, pass->keep) != 0)
		remember(pass, name, seconds, (uint64_t)st.st_size);
}

/* A descriptor of its own: closedir() closes it, and readers do not share a position. */
static int open_listing(int dir, DIR **out)
{
	int fd = fd_raise(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	if (fd < 0)
		return fd;
	*out = fdopendir(fd);
	if (!*out) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

static int scan(struct pass *pass)
{
	struct dirent *entry;
	DIR *listing;
	int err;

	pass->total = 0;
	pass->count = 0;
	err = open_listing(pass->dir, &listing);
	if (err)
		return err;
	while ((entry = readdir(listing)))
		look_at(pass, entry->d_name);
	closedir(listing);
	return 0;
}

/* Returns how many went. One that another process removed first is as good. */
static size_t remove_oldest(struct pass *pass, uint64_t max_bytes)
{
	size_t removed = 0;

	for (size_t i = 0; i < pass->count && pass->total > max_bytes; i++) {
		const struct candidate *candidate = &pass->candidates[i];

		if (unlinkat(pass->dir, candidate->name, 0) && errno != ENOENT)
			continue;
		pass->total -= candidate->bytes;
		removed++;
	}
	return removed;
}

int limit_directory(int dir, uint64_t max_bytes, uint64_t target_bytes, int64_t oldest,
		    const char *keep, uint64_t *total)
{
	struct pass *pass;
	int err;

	pass = malloc(sizeof(*pass));
	if (!pass)
		return -ENOMEM;
	pass->dir = dir;
	pass->oldest = oldest;
	pass->now = (int64_t)(clock_realtime_ns() / 1000000000u);
	pass->keep = keep;
	err = scan(pass);
	if (!err && pass->total > max_bytes)
		max_bytes = target_bytes;
	/* Those that may not be removed end it too. */
	while (!err && pass->total > max_bytes && remove_oldest(pass, max_bytes) &&
	       pass->total > max_bytes)
		err = scan(pass);
	*total = pass->total;
	free(pass);
	return err;
}
