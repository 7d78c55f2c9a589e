/* The stacks of sampled allocations, each kept once, with what was allocated and freed by it.
 *
 * Stacks share what they have in common from the thread's entry on: they are a tree of
 * (caller, pc), in bounded memory. When that is full, stacks end early, or fall to stack 0,
 * which is nobody's; both are counted. */
#ifndef ENGINE_MEMORY_MEM_STACKS_H
#define ENGINE_MEMORY_MEM_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/memory/mem_tree.h"

#define MEM_STACKS_MAX 16384

/* Bytes and allocations as estimated. */
struct mem_totals {
	uint64_t allocated_count, allocated_bytes;
	uint64_t freed_count, freed_bytes;
};

/* Returns 0 or -ENOMEM. Again: nothing. */
int mem_stacks_open(void);

/* From here, any thread, async-signal-safe, no lock; nothing may be done before open. A caller
 * stays between enter and leave for as long as it uses ids that no entry of the table holds; when
 * enter is false the stacks are being tidied up, and the sample is to be dropped. */
bool mem_stacks_enter(void);
void mem_stacks_leave(void);

/* The id of the stack, leaf first. */
uint32_t mem_stacks_add(const uintptr_t *pcs, size_t depth, bool truncated);

/* COUNT in 1/16ths of an allocation. */
void mem_stacks_allocated(uint32_t stack, uint64_t count16, uint64_t bytes);
void mem_stacks_freed(uint32_t stack, uint64_t count16, uint64_t bytes);

/* The rest is for one thread, the collector. */

/* Write the stack into PCS, leaf first; returns its depth, at most MAX. */
size_t mem_stacks_get(uint32_t stack, uintptr_t *pcs, size_t max, bool *truncated);
void mem_stacks_totals(uint32_t stack, struct mem_totals *totals);

/* Ids in use are below this. */
uint32_t mem_stacks_end(void);

/* True when so much is used that it is time to tidy up. */
bool mem_stacks_are_crowded(void);

/* Forget the stacks that MARK does not set in its array, while nobody is inside; their totals go
 * to stack 0. The ids of the others stay. Does nothing and returns false when a thread stays
 * inside for too long, or memory is out: try again later. */
bool mem_stacks_remove_unmarked(void (*mark)(bool keep[MEM_STACKS_MAX]));

/* Forget everything, EMPTY being called to empty the table while nobody is inside. False as
 * above. */
bool mem_stacks_clear(void (*empty)(void));

/* In a forked child: who was inside then does not exist here. */
void mem_stacks_fork_child(void);

/* Stacks that were cut or fell to 0 for want of room, since open. */
uint64_t mem_stacks_lost(void);

size_t mem_stacks_bytes(void);

#endif
