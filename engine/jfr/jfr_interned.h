/* Constants that events refer to: collected while a chunk is open, and written as its constant
 * pools. */
#ifndef ENGINE_JFR_JFR_INTERNED_H
#define ENGINE_JFR_JFR_INTERNED_H

#include <stdint.h>

#include "engine/jfr/jfr_contexts.h"
#include "engine/jfr/jfr_limits.h"
#include "engine/jfr/jfr_namer.h"
#include "engine/jfr/jfr_out.h"
#include "engine/jfr/jfr_stacks.h"
#include "engine/jfr/jfr_threads.h"

/* The constants of one chunk. */
struct jfr_interned {
	struct jfr_stacks stacks;
	struct jfr_threads threads;
	struct jfr_contexts contexts;
	struct jfr_contexts waits;            /* descriptions, as labels without ids */
	char *user_types[JFR_USER_TYPES_MAX]; /* kept for the writer's life; ids are one more */
	uint32_t user_type_count;

	/* Stacks, methods, classes, symbols, contexts and waits get their ids from one counter, which
	 * continues from chunk to chunk. A reader that searches all chunks of a file for leaks merges
	 * their pools, and the JDK's readers keep a constant of the previous chunk if the id is equal. */
	uint32_t first_stack_id; /* the id of stack n is this plus n */
	uint32_t next_id;        /* first id of the next chunk */
	uint32_t base_id;        /* the counter's start, also after a wrap */
};

/* A file may have chunks of async-profiler and of the agent's two writers, and a reader may merge
 * the pools of all. So each writer has its own range of ids. The agent's ranges begin beyond the
 * usual size of async-profiler's tables. They restart after JFR_IDS, so that an id fits three
 * bytes. In a file without async-profiler's chunks, memory events have small ids of one or two
 * bytes. */
#define JFR_IDS        (1u << 19)
#define JFR_SMALL_IDS  1u
#define JFR_FIRST_ID   (1u << 20)
#define JFR_MEMORY_IDS (JFR_FIRST_ID + JFR_IDS)

/* The id of a context or a wait, by its number from 1 on in its table. 0 has 0. */
uint32_t jfr_interned_row_id(const struct jfr_interned *interned, uint32_t row);

/* Write the checkpoint event with all pools to OUT, at its current position, and flush. Returns 0
 * or -errno. OUT remains usable after -ENOMEM and after errors of the namer. */
int jfr_interned_write(struct jfr_interned *interned, struct jfr_out *out, uint64_t ticks,
		       jfr_namer *namer, void *context);

/* Reset what belongs to one chunk. */
void jfr_interned_reset(struct jfr_interned *interned);
void jfr_interned_free(struct jfr_interned *interned);

#endif
