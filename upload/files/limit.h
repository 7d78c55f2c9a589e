/* Keeps a directory within bounds by removing its oldest profiles. */
#ifndef UPLOAD_FILES_LIMIT_H
#define UPLOAD_FILES_LIMIT_H

#include <stdint.h>

/* Remove each of our profiles (oldest_scan()) in DIR that is older than OLDEST (seconds since 1970);
 * and where the rest is more than MAX_BYTES, the oldest until it is TARGET_BYTES or less.
 *
 * Others may remove and add meanwhile. Returns 0 and sets *TOTAL to the bytes of the disk that are
 * still taken, or -errno. Uses little memory however many files there are. */
int limit_directory(int dir, uint64_t max_bytes, uint64_t target_bytes, int64_t oldest,
		    uint64_t *total);

#endif
