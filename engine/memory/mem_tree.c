/* Tree of stacks that share their outer frames. */
#include "engine/memory/mem_tree.h"

#include <stdatomic.h>

#include "core/memory/account.h"
#include "engine/runtime/frame_table.h"

#define PROBES 64

/* Memory that a new node may use: its pages in two tables. */
#define NODE_BYTES (2u * 4096)

/* Outermost frame of a truncated stack. */
#define CUT_SHORT 1u

/* Find or add a node. Returns its index, or MEM_TREE_ROOT when there is no room. */
static uint32_t node_add(struct mem_tree *tree, uint32_t parent, uintptr_t pc)
{
	uint64_t key = (uint64_t)pc << MEM_TREE_BITS | parent, seen;
	uint64_t h = key * 0x9e3779b97f4a7c15u;
	uint32_t i = (uint32_t)(h >> (64 - MEM_TREE_BITS));

	for (int probe = 0; probe < PROBES; probe++, i = (i + 1) % MEM_TREE_NODES) {
		if (i == MEM_TREE_ROOT)
			continue;
		seen = atomic_load_explicit(&tree->node[i], memory_order_relaxed);
		if (!seen && !memory_is_granted(MEMORY_STACK, NODE_BYTES))
			return MEM_TREE_ROOT;
		if (!seen && atomic_compare_exchange_strong_explicit(&tree->node[i], &seen, key,
								     memory_order_relaxed,
								     memory_order_relaxed)) {
			atomic_fetch_add_explicit(&tree->used, 1, memory_order_relaxed);
			return i;
		}
		if (seen == key)
			return i;
	}
	return MEM_TREE_ROOT;
}

static uintptr_t node_pc(uint64_t node)
{
	return (uintptr_t)(node >> MEM_TREE_BITS);
}

static uint32_t node_parent(uint64_t node)
{
	return (uint32_t)(node & (MEM_TREE_NODES - 1));
}

uint32_t mem_tree_add(struct mem_tree *tree, const uintptr_t *pcs, size_t depth, bool truncated,
		      bool *cut)
{
	uint32_t node = MEM_TREE_ROOT, next;

	if (depth > MEM_STACK_DEPTH_MAX) {
		depth = MEM_STACK_DEPTH_MAX;
		truncated = true;
	}
	if (truncated)
		node = node_add(tree, MEM_TREE_ROOT, CUT_SHORT);
	for (; depth; depth--) {
		next = node_add(tree, node, pcs[depth - 1]);
		if (next == MEM_TREE_ROOT)
			break;
		node = next;
	}
	*cut = depth != 0;
	return node;
}

size_t mem_tree_get(const struct mem_tree *tree, uint32_t node, uintptr_t *pcs, size_t max,
		    bool *truncated)
{
	size_t depth = 0;

	while (node != MEM_TREE_ROOT && depth < max) {
		uint64_t word = atomic_load(&tree->node[node]);

		if (node_pc(word) == CUT_SHORT)
			break;
		pcs[depth++] = node_pc(word);
		node = node_parent(word);
	}
	*truncated = node != MEM_TREE_ROOT;
	return depth;
}

uint32_t mem_tree_copy(struct mem_tree *tree, const struct mem_tree *old, uint32_t node)
{
	uint32_t path[MEM_STACK_DEPTH_MAX + 1], depth = 0, end = MEM_TREE_ROOT, next;

	for (; node != MEM_TREE_ROOT; node = node_parent(atomic_load(&old->node[node])))
		path[depth++] = node;
	while (depth--) {
		next = node_add(tree, end,
				frame_table_keep(node_pc(atomic_load(&old->node[path[depth]]))));
		if (next == MEM_TREE_ROOT)
			break;
		end = next;
	}
	return end;
}
