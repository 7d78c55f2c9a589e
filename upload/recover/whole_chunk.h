/* Integrity check of the finished chunks of a recording: a power failure may leave zeros within
 * a file. */
#ifndef UPLOAD_RECOVER_WHOLE_CHUNK_H
#define UPLOAD_RECOVER_WHOLE_CHUNK_H

#include <stdint.h>
#include <sys/types.h>

/* Find the first complete chunk at or after AT in FD, a file of END bytes. Returns its offset
 * and sets *SIZE, or returns -1 if there is none. */
off_t whole_chunk_next(int fd, off_t at, off_t end, uint64_t *size);

#endif
