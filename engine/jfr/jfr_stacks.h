/* Table of a chunk's stacks and of the program counters in them, each stored once. */
#ifndef ENGINE_JFR_JFR_STACKS_H
#define ENGINE_JFR_JFR_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_index.h"

/* Stacks that replace one that could not be stored. */
enum jfr_special_stack { JFR_STACK_TABLE_FULL, JFR_STACK_UNKNOWN, JFR_STACK_SPECIALS };

struct jfr_stacks {
	/* Program counters, numbered from 0. A pc that was sampled both as a leaf and as a return
	 * address is stored twice: it may belong to two functions. */
	uintptr_t *pcs;
	bool *is_return;
	uint32_t pc_count, pc_capacity, flag_capacity;
	struct jfr_index pc_index;

	/* The stacks consecutively: struct jfr_stack_head, then the numbers of their pcs. */
	uint32_t *words;
	uint32_t word_count, word_capacity;
	struct jfr_index stack_index; /* maps to the first word of a stack */
	uint32_t count;               /* number of stacks, including special ones */

	uint32_t special[JFR_STACK_SPECIALS]; /* 1 + their number; 0: not used in this chunk */
	size_t used;                          /* bytes, at most max */
	size_t max;
	uint64_t full; /* number of stacks without room */
};

struct jfr_stack_head {
	uint32_t number; /* sequence number, from 0 */
	uint32_t depth;  /* doubled, plus one if truncated */
};

#define JFR_STACK_HEAD_WORDS (sizeof(struct jfr_stack_head) / sizeof(uint32_t))

/* The number of the stack. Never fails: when the table is full or memory is out, it returns the
 * number of a special stack. */
uint32_t jfr_stacks_intern(struct jfr_stacks *s, const uintptr_t *pcs, size_t count,
			   bool truncated);

/* Remove all stacks. Frees memory beyond the needs of a usual chunk. */
void jfr_stacks_reset(struct jfr_stacks *s);
void jfr_stacks_free(struct jfr_stacks *s);

#endif
