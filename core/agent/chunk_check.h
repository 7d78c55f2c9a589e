/* Integrity checks of a finished chunk. A write of its engine may have failed or ended early. */
#ifndef CORE_AGENT_CHUNK_CHECK_H
#define CORE_AGENT_CHUNK_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* True if the chunk at OFFSET of FD, of LENGTH bytes, has a valid header, and its metadata and last constant pool are
 * within it. Reads some bytes only. */
bool chunk_has_structure(int fd, off_t offset, uint64_t length);

/* True if DATA, a chunk of LENGTH bytes, can be decoded: its metadata, its constant pools and all its events. */
bool chunk_is_readable(const uint8_t *data, uint64_t length);

/* Return the offset of the next possible chunk in FD, at or after FROM and before END; -1 when there is none, or FD cannot
 * be read. */
off_t chunk_find_magic(int fd, off_t from, off_t end);

#endif
