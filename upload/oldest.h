/* Looks through a directory for the oldest of our profiles. */
#ifndef UPLOAD_OLDEST_H
#define UPLOAD_OLDEST_H

#include <stddef.h>
#include <stdint.h>

#include "upload/name.h"

/* How many one look remembers, however many there are. */
#define OLDEST_MAX 64

struct oldest_file {
	int64_t seconds; /* since 1970, by its name */
	uint64_t bytes;
	char name[NAME_FILE_SIZE];
};

struct oldest {
	uint64_t total; /* bytes of all of our profiles there */
	size_t count;
	struct oldest_file files[OLDEST_MAX]; /* oldest first */
};

/* Fill OUT with the oldest of those that come after AFTER (NULL: of all) in the order of age;
 * temporary files whose writer is gone are removed in passing.
 * Returns 0 or -errno. Others may add and remove meanwhile. */
int oldest_scan(struct oldest *out, int dir, const struct oldest_file *after);

#endif
