/* Which finished chunks of a recording are as they were written: a power cut may leave zeros in the midst of a file. */
#ifndef UPLOAD_RECOVER_WHOLE_CHUNK_H
#define UPLOAD_RECOVER_WHOLE_CHUNK_H

#include <stdint.h>
#include <sys/types.h>

/* The first at AT or behind it of FD, a file of END bytes, that can be read to its end; *SIZE is its. Returns where
 * it begins; -1 where there is none. */
off_t whole_chunk_next(int fd, off_t at, off_t end, uint64_t *size);

#endif
