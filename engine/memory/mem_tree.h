/* Stacks that share what they have in common from the thread's entry on: a tree of bounded size.
 *
 * A node is one word, program counter and parent, so that one compare-and-swap adds it and no
 * reader ever sees half of one. Nodes stand in a hash table by that word and are never removed
 * one by one: who tidies up builds a new tree of what is kept. */
#ifndef ENGINE_MEMORY_MEM_TREE_H
#define ENGINE_MEMORY_MEM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEM_TREE_BITS  16
#define MEM_TREE_NODES (1u << MEM_TREE_BITS)

/* The parent of every outermost frame, and the node of an empty stack. */
#define MEM_TREE_ROOT 0u

/* Deeper stacks lose their outer frames. */
#define MEM_STACK_DEPTH_MAX 1024

/* Zeroed is empty. */
struct mem_tree {
	_Atomic uint64_t node[MEM_TREE_NODES];  /* pc << 16 | parent; 0: free */
	_Atomic uint16_t stack[MEM_TREE_NODES]; /* the caller's mark of the stack that ends here */
	_Atomic uint32_t used;
};

/* Add a stack of addresses below 2^48, none of them 0, leaf first, as far as there is room from its
 * outer end on. Returns the node where that ends, and sets *CUT to whether that is not the leaf's.
 * Any thread, async-signal-safe. */
uint32_t mem_tree_add(struct mem_tree *tree, const uintptr_t *pcs, size_t depth, bool truncated,
		      bool *cut);

/* Write the stack that ends in NODE into PCS, leaf first; returns its depth, at most MAX. */
size_t mem_tree_get(const struct mem_tree *tree, uint32_t node, uintptr_t *pcs, size_t max,
		    bool *truncated);

/* Add to TREE the stack that ends in OLD's NODE, its frames as frame_table_keep() has them. Returns the node in
 * TREE. */
uint32_t mem_tree_copy(struct mem_tree *tree, const struct mem_tree *old, uint32_t node);

#endif
