/* A chunk with the crash of a program that another engine samples. Agent thread only. */
#ifndef ENGINE_COLLECT_CRASH_CHUNK_H
#define ENGINE_COLLECT_CRASH_CHUNK_H

#include "core/wake.h"

/* From now on, record the stack of a crash until COLLECTOR's thread writes it. Returns 0 or
 * -errno. */
int crash_chunk_open(struct wake *collector);

/* Write the crashes since then to FD, an empty file, as a chunk. Returns 0, or -errno; -ENODATA if
 * there was no crash. */
int crash_chunk_write(int fd);

#endif
