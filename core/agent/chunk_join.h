/* Several chunks of one run of async-profiler made one, in the file that they are moved to: where one is finished ten
 * times a second, most of each is the description of the types, and constants, the same ever again. The one there
 * is whole whenever the process is killed: what is added counts once its header says so, by a single write.
 *
 * async-profiler's own order is needed: the types, the events, the constants. What is otherwise stays a chunk of its
 * own. */
#ifndef CORE_AGENT_CHUNK_JOIN_H
#define CORE_AGENT_CHUNK_JOIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/agent/new_constants.h"

/* The last one, to which more may be added. Zero at first. */
struct chunk_join {
	bool open;
	off_t at; /* in the file */
	uint64_t size, constants;
	uint64_t start_ns, start_ticks, frequency;
	uint64_t types_length;     /* of how these are described */
	struct new_constants left; /* knows those that it has */
	uint8_t alone[128];        /* a bit for each type whose events have a chunk of their own */
};

/* Append the finished chunk of SIZE bytes at OFFSET of IN to OUT, whose position and end are *END, and move *END. Returns 0
 * or -errno: then OUT may have some more behind *END. */
int chunk_join_add(struct chunk_join *join, int out, off_t *end, int in, off_t offset,
		   uint64_t size);

/* The last one is somebody else's now: the next begins anew. Releases what JOIN has; it may be used again. */
void chunk_join_end(struct chunk_join *join);

#endif
