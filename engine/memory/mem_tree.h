/* Tree of stacks that share their outer frames, of fixed size.
 *
 * A node is one word: program counter and parent. So one compare-and-swap adds a node, and no
 * reader sees half of one. The nodes are in a hash table with that word as the key. Single nodes
 * are never removed; the collector builds a new tree of the stacks that it keeps. */
#ifndef ENGINE_MEMORY_MEM_TREE_H
#define ENGINE_MEMORY_MEM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEM_TREE_BITS  16
#define MEM_TREE_NODES (1u << MEM_TREE_BITS)

/* Parent of every outermost frame, and node of an empty stack. */
#define MEM_TREE_ROOT 0u

/* The outer frames of deeper stacks are dropped. */
#define MEM_STACK_DEPTH_MAX 1024

/* A zeroed tree is empty. */
struct mem_tree {
	_Atomic uint64_t node[MEM_TREE_NODES];  /* pc << 16 | parent; 0: free */
	_Atomic uint16_t stack[MEM_TREE_NODES]; /* the caller's id of the stack that ends here */
	_Atomic uint32_t used;
};

/* Add a stack of addresses below 2^48, none of them 0, leaf first. Frames are added from the outer
 * end as far as there is room. Returns the node of the last added frame, and sets *CUT if that is
 * not the leaf. Any thread, async-signal-safe. */
uint32_t mem_tree_add(struct mem_tree *tree, const uintptr_t *pcs, size_t depth, bool truncated,
		      bool *cut);

/* Write the stack that ends in NODE to PCS, leaf first. Returns its depth, at most MAX. */
size_t mem_tree_get(const struct mem_tree *tree, uint32_t node, uintptr_t *pcs, size_t max,
		    bool *truncated);

/* Copy the stack that ends in OLD's NODE to TREE, with its frames moved by frame_table_keep().
 * Returns the node in TREE. */
uint32_t mem_tree_copy(struct mem_tree *tree, const struct mem_tree *old, uint32_t node);

#endif
