/* Search of a directory for the oldest profiles of the agent. */
#include "upload/files/oldest.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "upload/files/dir.h"
#include "upload/files/temporary.h"

#define BLOCK 4096

/* Maximum clock difference between machines that share a directory; beyond it a clock is wrong. */
#define FUTURE_SECONDS 60

uint64_t oldest_blocks(uint64_t length)
{
	return (length + BLOCK - 1) / BLOCK * BLOCK;
}

/* Order of age; profiles of one second are ordered by name, so that the order is total. */
static bool oldest_is_before(const struct oldest_file *a, const struct oldest_file *b)
{
	if (a->future != b->future)
		return a->future;
	if (a->seconds != b->seconds)
		return a->seconds < b->seconds;
	return strcmp(a->name, b->name) < 0;
}

static void oldest_insert(struct oldest *out, const struct oldest_file *file)
{
	size_t at = out->count;

	while (at && !oldest_is_before(&out->files[at - 1], file))
		at--;
	if (at == OLDEST_MAX)
		return;
	if (out->count < OLDEST_MAX)
		out->count++;
	memmove(&out->files[at + 1], &out->files[at],
		(out->count - 1 - at) * sizeof(out->files[0]));
	out->files[at] = *file;
}

static void oldest_examine(struct oldest *out, int dir, const struct oldest_file *after,
			   const char *name)
{
	struct oldest_file file;
	struct stat st;

	if (temporary_is(name))
		temporary_sweep(dir, name);
	if (strlen(name) >= sizeof(file.name) || !name_parse(name, out->suffix, &file.seconds))
		return;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid())
		return;
	if (st.st_mtime < file.seconds)
		file.seconds = st.st_mtime;
	file.future = file.seconds > out->now + FUTURE_SECONDS;
	/* Blocks instead of the length: a sparse file takes no space. */
	file.bytes = (uint64_t)st.st_blocks * 512 + out->companion_bytes;
	file.length = (uint64_t)st.st_size;
	strcpy(file.name, name);
	out->total += file.bytes;
	if (!after || oldest_is_before(after, &file))
		oldest_insert(out, &file);
}

int oldest_scan(struct oldest *out, int dir, const struct oldest_file *after)
{
	struct dirent *entry;
	DIR *listing;
	int err;

	out->total = 0;
	out->count = 0;
	out->now = (int64_t)(clock_realtime_ns() / 1000000000u);
	listing = dir_list(dir, &err);
	if (!listing)
		return err;
	while ((entry = readdir(listing)))
		if (!after || strcmp(entry->d_name, after->name) != 0)
			oldest_examine(out, dir, after, entry->d_name);
	closedir(listing);
	return 0;
}
