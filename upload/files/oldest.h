/* Looks through a directory for the oldest of our profiles. */
#ifndef UPLOAD_FILES_OLDEST_H
#define UPLOAD_FILES_OLDEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/files/name.h"

/* How many one look remembers, however many there are. */
#define OLDEST_MAX 64

struct oldest_file {
	int64_t seconds; /* since 1970: by its name or by its last change, whichever is earlier */
	bool future; /* that is to come: nobody knows how old it is, and it counts as the oldest */
	uint64_t bytes; /* of the disk, with those beside it */
	uint64_t length;
	char name[NAME_FILE_SIZE];
};

struct oldest {
	/* Set by the caller. */
	const char *end;          /* of their names: NAME_PROFILE or NAME_SPOOLED */
	uint64_t companion_bytes; /* that each takes beyond its own file */

	uint64_t total; /* bytes of the disk that all of our profiles there take */
	int64_t now;    /* when looked, in seconds since 1970 */
	size_t count;
	struct oldest_file files[OLDEST_MAX]; /* oldest first */
};

/* Fill OUT with the oldest of those that come after AFTER (NULL: of all) in the order of age;
 * temporary files whose writer is gone are removed in passing. Only plain files of this user's count
 * as ours: others may have put what they like under such a name.
 * Returns 0 or -errno. Others may add and remove meanwhile. */
int oldest_scan(struct oldest *out, int dir, const struct oldest_file *after);

/* The bytes of the disk that a file of LENGTH takes, as most file systems have it. */
uint64_t oldest_blocks(uint64_t length);

#endif
