/* Size and age limits of a directory: removes the oldest profiles. */
#ifndef UPLOAD_FILES_LIMIT_H
#define UPLOAD_FILES_LIMIT_H

#include <stdint.h>

/* Remove the agent's profiles (oldest_scan()) in DIR that are older than OLDEST, in seconds
 * since 1970. If the rest exceeds MAX_BYTES, remove the oldest until at most TARGET_BYTES
 * remain.
 *
 * Other processes may add and remove files meanwhile. Memory use does not depend on the number
 * of files. Returns 0 and sets *TOTAL to the disk bytes still used, or -errno. */
int limit_directory(int dir, uint64_t max_bytes, uint64_t target_bytes, int64_t oldest,
		    uint64_t *total);

#endif
