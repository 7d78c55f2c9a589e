/* Stacks of sampled allocations, each stored once, with its allocated and freed totals.
 *
 * Stacks share their outer frames in a tree of (caller, pc) of bounded size. When the tree is full,
 * stacks are truncated or counted under stack 0, which stands for unknown stacks. Both cases are
 * counted. */
#ifndef ENGINE_MEMORY_MEM_STACKS_H
#define ENGINE_MEMORY_MEM_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/memory/mem_tree.h"

#define MEM_STACKS_MAX 16384

/* Estimated bytes and allocations. */
struct mem_totals {
	uint64_t allocated_count, allocated_bytes;
	uint64_t freed_count, freed_bytes;
};

/* Allocate the tables. Returns 0 or -ENOMEM; a second call does nothing. */
int mem_stacks_open(void);

/* The functions from here on may run in any thread, after mem_stacks_open(). They are
 * async-signal-safe and take no lock. A caller stays between enter and leave while it uses ids that
 * no entry of the table holds. Enter returns false while stacks are being removed; then the sample
 * is dropped. */
bool mem_stacks_enter(void);
void mem_stacks_leave(void);

/* Store the stack, leaf first, and return its id. */
uint32_t mem_stacks_add(const uintptr_t *pcs, size_t depth, bool truncated);

/* COUNT in 1/16ths of an allocation. */
void mem_stacks_allocated(uint32_t stack, uint64_t count16, uint64_t bytes);
void mem_stacks_freed(uint32_t stack, uint64_t count16, uint64_t bytes);

/* The functions below are called by one thread, the collector. */

/* Write the stack to PCS, leaf first. Returns its depth, at most MAX. */
size_t mem_stacks_get(uint32_t stack, uintptr_t *pcs, size_t max, bool *truncated);
void mem_stacks_totals(uint32_t stack, struct mem_totals *totals);

/* All ids in use are below this. */
uint32_t mem_stacks_end(void);

/* True when the tables are so full that stacks should be removed. */
bool mem_stacks_are_crowded(void);

/* Remove the stacks that MARK does not set in its array, while readers are excluded. Their totals
 * are added to stack 0. The ids of the others do not change. Returns false, without any change,
 * when a reader stays for too long or memory is out: try again later. */
bool mem_stacks_remove_unmarked(void (*mark)(bool keep[MEM_STACKS_MAX]));

/* Remove everything; EMPTY is called to clear the table while readers are excluded. Returns false
 * as mem_stacks_remove_unmarked() does. */
bool mem_stacks_clear(void (*empty)(void));

/* Reset the readers in a forked child. */
void mem_stacks_fork_child(void);

/* Stacks that were truncated or counted under stack 0 for lack of room, since open. */
uint64_t mem_stacks_lost(void);

#endif
