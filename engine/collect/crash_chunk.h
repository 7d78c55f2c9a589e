/* A crash of a program of which another engine takes the samples, as a chunk. Agent thread only. */
#ifndef ENGINE_COLLECT_CRASH_CHUNK_H
#define ENGINE_COLLECT_CRASH_CHUNK_H

#include "core/wake.h"

/* Have the stack of a crash kept from now on, until COLLECTOR's thread writes it. Returns 0 or -errno. */
int crash_chunk_open(struct wake *collector);

/* Write what has come since to FD, an empty file, as a chunk. Returns 0, or -errno: -ENODATA where nothing has crashed. */
int crash_chunk_write(int fd);

#endif
