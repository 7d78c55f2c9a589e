/* Stacks of sampled allocations: an id and totals for each, and the tree that holds them. The tree
 * is replaced while readers are excluded. */
#include "engine/memory/mem_stacks.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/system.h"
#include "engine/memory/mem_readers.h"
#include "engine/memory/mem_tree.h"

/* Above these numbers stacks are removed. */
#define NODES_CROWDED  (MEM_TREE_NODES / 2)
#define STACKS_CROWDED (MEM_STACKS_MAX / 2)

/* Ids that are always tried. */
#define TRIES_MAX 256

struct stack {
	_Atomic uint32_t node;
	_Atomic uint32_t taken; /* the id is in use */
	_Atomic uint64_t allocated_count16, allocated_bytes;
	_Atomic uint64_t freed_count16, freed_bytes;
};

static struct {
	struct mem_tree *_Atomic tree;
	struct stack *stack; /* MEM_STACKS_MAX of them; the first is for unknown stacks */
	_Atomic uint32_t end, used;
	_Atomic uint32_t hint; /* start of the search for a free id */
	_Atomic uint64_t lost;
} mem_stacks;

_Static_assert(MEM_STACKS_MAX <= MEM_TREE_NODES, "an id fits a node's mark");
_Static_assert(sizeof(struct mem_tree) <= 655360 + 64, "part of the sampler's 4 MiB");

int mem_stacks_open(void)
{
	struct mem_tree *tree;

	if (atomic_load(&mem_stacks.tree))
		return 0;
	tree = system_map(sizeof(*tree));
	if (!tree)
		return -ENOMEM;
	mem_stacks.stack = system_map(MEM_STACKS_MAX * sizeof(*mem_stacks.stack));
	if (!mem_stacks.stack) {
		system_unmap(tree, sizeof(*tree));
		return -ENOMEM;
	}
	atomic_store(&mem_stacks.end, 1);
	atomic_store(&mem_stacks.tree, tree);
	return 0;
}

bool mem_stacks_enter(void)
{
	return atomic_load_explicit(&mem_stacks.tree, memory_order_relaxed) && mem_readers_enter();
}

void mem_stacks_leave(void)
{
	mem_readers_leave();
}

static bool id_try_acquire(uint32_t id)
{
	uint32_t no = 0;

	return !atomic_load_explicit(&mem_stacks.stack[id].taken, memory_order_relaxed) &&
	       atomic_compare_exchange_strong(&mem_stacks.stack[id].taken, &no, 1);
}

/* When nearly all ids are in use, losing a stack is cheaper than a search through all ids. */
static bool ids_are_scarce(void)
{
	return atomic_load_explicit(&mem_stacks.used, memory_order_relaxed) >
	       MEM_STACKS_MAX * 15 / 16;
}

/* A free id, or 0. */
static uint32_t id_acquire(void)
{
	uint32_t id = atomic_load_explicit(&mem_stacks.hint, memory_order_relaxed);

	for (uint32_t i = 1; i < MEM_STACKS_MAX; i++) {
		id = id + 1 < MEM_STACKS_MAX ? id + 1 : 1;
		if (id_try_acquire(id)) {
			atomic_store_explicit(&mem_stacks.hint, id, memory_order_relaxed);
			atomic_fetch_add_explicit(&mem_stacks.used, 1, memory_order_relaxed);
			return id;
		}
		if (i == TRIES_MAX && ids_are_scarce())
			break;
	}
	return 0;
}

static void ids_raise_end(uint32_t id)
{
	uint32_t end = atomic_load(&mem_stacks.end);

	while (end <= id && !atomic_compare_exchange_weak(&mem_stacks.end, &end, id + 1))
		;
}

/* The id of the stack that ends in NODE. */
static uint32_t id_for_node(struct mem_tree *tree, uint32_t node)
{
	uint16_t there = atomic_load_explicit(&tree->stack[node], memory_order_acquire);
	uint32_t id;

	if (there)
		return there;
	id = id_acquire();
	if (!id)
		return 0;
	atomic_store(&mem_stacks.stack[id].node, node);
	if (!atomic_compare_exchange_strong(&tree->stack[node], &there, (uint16_t)id)) {
		/* Another thread has added the same stack first. */
		atomic_fetch_sub_explicit(&mem_stacks.used, 1, memory_order_relaxed);
		atomic_store(&mem_stacks.stack[id].taken, 0);
		return there;
	}
	ids_raise_end(id);
	return id;
}

uint32_t mem_stacks_add(const uintptr_t *pcs, size_t depth, bool truncated)
{
	struct mem_tree *tree = atomic_load_explicit(&mem_stacks.tree, memory_order_acquire);
	bool cut;
	uint32_t node = mem_tree_add(tree, pcs, depth, truncated, &cut);
	uint32_t id = node == MEM_TREE_ROOT ? 0 : id_for_node(tree, node);

	if (cut || !id)
		atomic_fetch_add_explicit(&mem_stacks.lost, 1, memory_order_relaxed);
	return id;
}

void mem_stacks_allocated(uint32_t stack, uint64_t count16, uint64_t bytes)
{
	struct stack *s = &mem_stacks.stack[stack];

	atomic_fetch_add_explicit(&s->allocated_count16, count16, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->allocated_bytes, bytes, memory_order_relaxed);
}

void mem_stacks_freed(uint32_t stack, uint64_t count16, uint64_t bytes)
{
	struct stack *s = &mem_stacks.stack[stack];

	atomic_fetch_add_explicit(&s->freed_count16, count16, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->freed_bytes, bytes, memory_order_relaxed);
}

size_t mem_stacks_get(uint32_t stack, uintptr_t *pcs, size_t max, bool *truncated)
{
	uint32_t node = stack ? atomic_load(&mem_stacks.stack[stack].node) : MEM_TREE_ROOT;

	return mem_tree_get(atomic_load(&mem_stacks.tree), node, pcs, max, truncated);
}

void mem_stacks_totals(uint32_t stack, struct mem_totals *totals)
{
	const struct stack *s = &mem_stacks.stack[stack];

	totals->allocated_count = atomic_load(&s->allocated_count16) / 16;
	totals->allocated_bytes = atomic_load(&s->allocated_bytes);
	totals->freed_count = atomic_load(&s->freed_count16) / 16;
	totals->freed_bytes = atomic_load(&s->freed_bytes);
}

uint32_t mem_stacks_end(void)
{
	return atomic_load(&mem_stacks.end);
}

bool mem_stacks_are_crowded(void)
{
	struct mem_tree *tree = atomic_load(&mem_stacks.tree);

	return atomic_load(&tree->used) > NODES_CROWDED ||
	       atomic_load(&mem_stacks.used) > STACKS_CROWDED;
}

/* Frees of this stack may still arrive: the allocation is no longer in the table, but the thread
 * that freed it has not counted it yet. Such a free is counted for the next stack with this id. */
static void stack_release(struct stack *s)
{
	struct stack *unknown = &mem_stacks.stack[0];

	unknown->allocated_count16 += atomic_exchange(&s->allocated_count16, 0);
	unknown->allocated_bytes += atomic_exchange(&s->allocated_bytes, 0);
	unknown->freed_count16 += atomic_exchange(&s->freed_count16, 0);
	unknown->freed_bytes += atomic_exchange(&s->freed_bytes, 0);
	atomic_fetch_sub(&mem_stacks.used, 1);
	atomic_store(&s->taken, 0);
}

static void stacks_replace_tree(struct mem_tree *fresh, const bool keep[MEM_STACKS_MAX])
{
	struct mem_tree *old = atomic_load(&mem_stacks.tree);
	uint32_t end = 1, node;

	for (uint32_t id = 1; id < atomic_load(&mem_stacks.end); id++) {
		struct stack *s = &mem_stacks.stack[id];

		if (!atomic_load(&s->taken))
			continue;
		if (!keep[id]) {
			stack_release(s);
			continue;
		}
		node = mem_tree_copy(fresh, old, atomic_load(&s->node));
		atomic_store(&s->node, node);
		if (node != MEM_TREE_ROOT)
			atomic_store(&fresh->stack[node], (uint16_t)id);
		end = id + 1;
	}
	atomic_store(&mem_stacks.end, end);
	atomic_store(&mem_stacks.hint, 0);
	atomic_store(&mem_stacks.tree, fresh);
	system_unmap(old, sizeof(*old));
}

bool mem_stacks_remove_unmarked(void (*mark)(bool keep[MEM_STACKS_MAX]))
{
	static bool keep[MEM_STACKS_MAX]; /* too large for the small stack of the agent's thread */
	struct mem_tree *fresh = system_map(sizeof(*fresh));

	if (!fresh)
		return false;
	if (!mem_readers_exclude()) {
		system_unmap(fresh, sizeof(*fresh));
		return false;
	}
	memset(keep, 0, sizeof(keep));
	mark(keep);
	stacks_replace_tree(fresh, keep);
	mem_readers_admit();
	return true;
}

bool mem_stacks_clear(void (*empty)(void))
{
	struct mem_tree *tree = atomic_load(&mem_stacks.tree);

	if (!mem_readers_exclude())
		return false;
	empty();
	/* In place: readers are excluded. New tables, and a forked child's, need no memory then. */
	system_empty((void *)tree, sizeof(*tree));
	system_empty((void *)mem_stacks.stack, MEM_STACKS_MAX * sizeof(*mem_stacks.stack));
	atomic_store(&mem_stacks.end, 1);
	atomic_store(&mem_stacks.used, 0);
	atomic_store(&mem_stacks.hint, 0);
	atomic_store(&mem_stacks.lost, 0);
	mem_readers_admit();
	return true;
}

void mem_stacks_fork_child(void)
{
	mem_readers_fork_child();
}

uint64_t mem_stacks_lost(void)
{
	return atomic_load(&mem_stacks.lost);
}
