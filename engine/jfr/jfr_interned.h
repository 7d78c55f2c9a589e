/* What events refer to, collected while the chunk is open and written as its constant pools. */
#ifndef ENGINE_JFR_JFR_INTERNED_H
#define ENGINE_JFR_JFR_INTERNED_H

#include <stdint.h>

#include "engine/jfr/jfr_contexts.h"
#include "engine/jfr/jfr_limits.h"
#include "engine/jfr/jfr_namer.h"
#include "engine/jfr/jfr_out.h"
#include "engine/jfr/jfr_stacks.h"
#include "engine/jfr/jfr_threads.h"

/* What the events of a chunk refer to. */
struct jfr_interned {
	struct jfr_stacks stacks;
	struct jfr_threads threads;
	struct jfr_contexts contexts;
	char *user_types[JFR_USER_TYPES_MAX]; /* of the writer's life; ids are one more */
	uint32_t user_type_count;

	/* Stacks, methods, classes and symbols draw their ids from one counter that goes on from
	 * chunk to chunk: a reader that looks for leaks over all chunks of a file keeps the pools
	 * of all of them together. */
	uint32_t first_stack_id; /* the stack numbered n has this plus n */
	uint32_t next_id;        /* of the next chunk */
	uint32_t base_id;        /* where the counter begins, and begins again */
};

/* A file may hold chunks of async-profiler and of our two writers, and a reader may keep the pools
 * of all of them, so each writer has a range of ids. Ours begin beyond what async-profiler's tables
 * of a usual size reach, and start over after JFR_IDS, so that an id fits three bytes. In a file
 * without async-profiler's chunks memory events have small ids, of one or two bytes. */
#define JFR_IDS        (1u << 19)
#define JFR_SMALL_IDS  1u
#define JFR_FIRST_ID   (1u << 20)
#define JFR_MEMORY_IDS (JFR_FIRST_ID + JFR_IDS)

/* Write the checkpoint event with all pools to OUT, which is at its place, and flush.
 * Returns 0, or -errno, -ENOMEM and the namer's errors leaving OUT usable. */
int jfr_interned_write(struct jfr_interned *interned, struct jfr_out *out, uint64_t ticks,
		       jfr_namer *namer, void *context);

/* Forget what belongs to one chunk. */
void jfr_interned_reset(struct jfr_interned *interned);
void jfr_interned_free(struct jfr_interned *interned);

#endif
