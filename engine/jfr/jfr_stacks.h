/* The stacks of a chunk, each once, and the program counters in them, each once. */
#ifndef ENGINE_JFR_JFR_STACKS_H
#define ENGINE_JFR_JFR_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_index.h"

/* Stacks that stand for one that could not be kept. */
enum jfr_special_stack { JFR_STACK_TABLE_FULL, JFR_STACK_UNKNOWN, JFR_STACK_SPECIALS };

struct jfr_stacks {
	/* Program counters, numbered from 0. The same one is there twice when it was sampled both
	 * as a leaf and as a return address: it may belong to two functions. */
	uintptr_t *pcs;
	bool *is_return;
	uint32_t pc_count, pc_capacity, flag_capacity;
	struct jfr_index pc_index;

	/* Stacks one after another: struct jfr_stack_head, then the numbers of their pcs. */
	uint32_t *words;
	uint32_t word_count, word_capacity;
	struct jfr_index stack_index; /* to the word where it starts */
	uint32_t count;               /* stacks, special ones included */

	uint32_t special[JFR_STACK_SPECIALS]; /* 1 + their number; 0: not used in this chunk */
	size_t used;                          /* bytes, never past max */
	size_t max;
	uint64_t full; /* stacks that were not taken */
};

struct jfr_stack_head {
	uint32_t number; /* in the order of coming, from 0 */
	uint32_t depth;  /* twice, plus one if truncated */
};

#define JFR_STACK_HEAD_WORDS (sizeof(struct jfr_stack_head) / sizeof(uint32_t))

/* The number of the stack. Never fails: the table being full, or memory, gives the number of a
 * special stack. */
uint32_t jfr_stacks_intern(struct jfr_stacks *s, const uintptr_t *pcs, size_t count,
			   bool truncated);

/* Forget all stacks. Memory beyond what a usual chunk needs is given back. */
void jfr_stacks_reset(struct jfr_stacks *s);
void jfr_stacks_free(struct jfr_stacks *s);

#endif
