/* Which constants of a chunk of async-profiler's are not in those before it that it is made one with
 * (core/agent/chunk_join.h). Stacks, methods and classes keep their numbers for a whole run; names and packages have new
 * ones in each chunk, so of these it is what the others that are left refer to, which come before them. */
#ifndef CORE_AGENT_NEW_CONSTANTS_H
#define CORE_AGENT_NEW_CONSTANTS_H

#include <stdint.h>

#include "core/buf.h"
#include "profile/jfr/jfr_parsed.h"

/* Numbers of constants, with their types. */
struct constant_keys {
	uint64_t *slots; /* malloc'd; 0: free */
	size_t count, capacity;
};

/* Zero at first. */
struct new_constants {
	struct jfr_chunk types; /* no more of it is there */
	uint8_t *metadata;      /* malloc'd */
	struct constant_keys known, named;
};

/* Constants will be of the types that METADATA describes, an event of LENGTH bytes. Returns 0 or -errno. Either way to be
 * ended. */
int new_constants_begin(struct new_constants *n, const uint8_t *metadata, uint64_t length);

/* Append to OUT what is new of the pools between AT and END, and know it from now on; add up in *POOLS how many these
 * are. Returns 0 or -errno: -EBADMSG where they are not as expected, and what is known is not to be relied upon. */
int new_constants_take(struct new_constants *n, const uint8_t *at, const uint8_t *end,
		       struct buf *out, unsigned *pools);

void new_constants_end(struct new_constants *n);

#endif
