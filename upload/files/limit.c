/* Size and age limits of a directory: removes the oldest profiles. */
#include "upload/files/limit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "upload/files/oldest.h"

/* Returns the number of removed files, including files that another process removed first. */
static size_t limit_remove_oldest(struct oldest *seen, int dir, uint64_t bound, int64_t oldest)
{
	size_t removed = 0;

	for (size_t i = 0; i < seen->count; i++) {
		const struct oldest_file *file = &seen->files[i];

		if (seen->total <= bound && (file->future || file->seconds >= oldest))
			continue;
		if (unlinkat(dir, file->name, 0) && errno != ENOENT)
			continue;
		seen->total -= file->bytes;
		removed++;
	}
	return removed;
}

int limit_directory(int dir, uint64_t max_bytes, uint64_t target_bytes, int64_t oldest,
		    uint64_t *total)
{
	struct oldest *seen;
	int err;

	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	seen->suffix = NAME_PROFILE;
	err = oldest_scan(seen, dir, NULL);
	if (!err && seen->total > max_bytes)
		max_bytes = target_bytes;
	/* Repeat until no more files can be removed. */
	while (!err && limit_remove_oldest(seen, dir, max_bytes, oldest))
		err = oldest_scan(seen, dir, NULL);
	if (!err)
		*total = seen->total;
	free(seen);
	return err;
}
