/* Search of a directory for the oldest profiles of the agent. */
#ifndef UPLOAD_FILES_OLDEST_H
#define UPLOAD_FILES_OLDEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/files/name.h"

/* Number of files that one scan returns at most. */
#define OLDEST_MAX 64

struct oldest_file {
	int64_t seconds; /* since 1970: the earlier of the name's time and the last change */
	bool future; /* its time lies in the future, so its age is unknown; sorts as the oldest */
	uint64_t bytes; /* on disk, with its companion files */
	uint64_t length;
	char name[NAME_FILE_SIZE];
};

struct oldest {
	/* Set by the caller. */
	const char *suffix;       /* of the names: NAME_PROFILE or NAME_SPOOLED */
	uint64_t companion_bytes; /* on disk, of each file's companion files */

	uint64_t total; /* on disk, of all the agent's profiles in the directory */
	int64_t now;    /* time of the scan, in seconds since 1970 */
	size_t count;
	struct oldest_file files[OLDEST_MAX]; /* oldest first */
};

/* Fill OUT with the oldest files after AFTER in the order of age; a NULL AFTER starts at the
 * oldest. Temporary files without a writer are removed (temporary_sweep()).
 *
 * Only regular files of this user count: other users can choose such names too. Other processes
 * may add and remove files meanwhile. Returns 0 or -errno. Called by the agent's thread and by delivery threads. */
int oldest_scan(struct oldest *out, int dir, const struct oldest_file *after);

/* Disk bytes of a file of LENGTH bytes, with the block size of most file systems. */
uint64_t oldest_blocks(uint64_t length);

#endif
