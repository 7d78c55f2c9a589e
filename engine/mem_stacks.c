/* The stacks of sampled allocations, each kept once.
 *
 * A node is one word, program counter and parent, so that one compare-and-swap adds it and no
 * reader ever sees half of one. Nodes stand in a hash table by that word and are never removed
 * one by one: tidying builds a new tree of what is kept, while nobody is inside. */
#include "engine/mem_stacks.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define NODE_BITS 16
#define NODES     (1u << NODE_BITS)
#define PROBES    64

/* Node 0 is the root: the parent of every outermost frame. */
#define ROOT 0u
/* As the outermost frame: the real ones were not reached. */
#define CUT_SHORT 1u

/* Above these shares it is time to tidy up. */
#define NODES_CROWDED  (NODES / 2)
#define STACKS_CROWDED (MEM_STACKS_MAX / 2)

struct tree {
	_Atomic uint64_t node[NODES];  /* pc << 16 | parent; 0: free */
	_Atomic uint16_t stack[NODES]; /* that ends here; 0: none */
	_Atomic uint32_t used;
};

struct stack {
	_Atomic uint32_t node;
	_Atomic uint32_t taken; /* the id is given out */
	_Atomic uint64_t allocated_count16, allocated_bytes;
	_Atomic uint64_t freed_count16, freed_bytes;
};

static struct {
	struct tree *_Atomic tree;
	struct stack *stack; /* MEM_STACKS_MAX of them; the first is nobody's */
	_Atomic uint32_t end, used;
	_Atomic uint32_t hint; /* where an id given back may be found */
	_Atomic bool closed;   /* nobody may enter */
	_Atomic uint64_t lost;
} all;

/* Threads spread over several doors, so that they do not all write to one cache line. */
#define DOOR_BITS 3

static struct {
	_Alignas(64) _Atomic uint32_t inside;
} doors[1u << DOOR_BITS];

_Static_assert(MEM_STACKS_MAX <= NODES, "an id fits a node's mark");
_Static_assert(sizeof(struct tree) <= 655360 + 64, "part of the sampler's 4 MiB");

size_t mem_stacks_bytes(void)
{
	/* A second tree while tidying. */
	return 2 * sizeof(struct tree) + MEM_STACKS_MAX * sizeof(struct stack);
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int mem_stacks_open(void)
{
	struct tree *tree;

	if (all.stack)
		return 0;
	tree = map(sizeof(*tree));
	if (!tree)
		return -ENOMEM;
	all.stack = map(MEM_STACKS_MAX * sizeof(*all.stack));
	if (!all.stack) {
		munmap(tree, sizeof(*tree));
		return -ENOMEM;
	}
	atomic_store(&all.end, 1);
	atomic_store(&all.tree, tree);
	return 0;
}

/* The calling thread's: told by where its variables lie. */
static _Atomic uint32_t *inside_door(void)
{
	static __thread char mine;
	uint64_t hash = (uint64_t)(uintptr_t)&mine * 0x9e3779b97f4a7c15u;

	return &doors[hash >> (64 - DOOR_BITS)].inside;
}

bool mem_stacks_enter(void)
{
	if (!atomic_load_explicit(&all.tree, memory_order_relaxed))
		return false;
	/* Both this and close_doors() are a store and then a load: one of the two sees the other. */
	atomic_fetch_add(inside_door(), 1);
	if (!atomic_load(&all.closed))
		return true;
	mem_stacks_leave();
	return false;
}

void mem_stacks_leave(void)
{
	atomic_fetch_sub(inside_door(), 1);
}

static bool somebody_inside(void)
{
	for (size_t i = 0; i < sizeof(doors) / sizeof(doors[0]); i++)
		if (atomic_load(&doors[i].inside))
			return true;
	return false;
}

/* Wait for those inside: each stays for some microseconds, unless it was preempted there. */
static bool close_doors(void)
{
	atomic_store(&all.closed, true);
	for (int i = 0; i < 1000; i++) {
		if (!somebody_inside())
			return true;
		sched_yield();
	}
	atomic_store(&all.closed, false);
	return false;
}

/* Find or add the node. Returns its index, or ROOT when there is no room. */
static uint32_t node_add(struct tree *tree, uint32_t parent, uintptr_t pc)
{
	uint64_t key = (uint64_t)pc << NODE_BITS | parent, seen;
	uint64_t h = key * 0x9e3779b97f4a7c15u;
	uint32_t i = (uint32_t)(h >> (64 - NODE_BITS));

	for (int probe = 0; probe < PROBES; probe++, i = (i + 1) % NODES) {
		if (i == ROOT)
			continue;
		seen = atomic_load_explicit(&tree->node[i], memory_order_relaxed);
		if (!seen && atomic_compare_exchange_strong_explicit(&tree->node[i], &seen, key,
								     memory_order_relaxed,
								     memory_order_relaxed)) {
			atomic_fetch_add_explicit(&tree->used, 1, memory_order_relaxed);
			return i;
		}
		if (seen == key)
			return i;
	}
	return ROOT;
}

static uint32_t id_take(void)
{
	uint32_t id = atomic_load_explicit(&all.hint, memory_order_relaxed), none = 0;

	for (uint32_t i = 1; i < MEM_STACKS_MAX; i++) {
		id = id + 1 < MEM_STACKS_MAX ? id + 1 : 1;
		none = 0;
		if (!atomic_load_explicit(&all.stack[id].taken, memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&all.stack[id].taken, &none, 1))
			break;
		/* Full but for some: better lose this one than look through all each time. */
		if (i == 256 && atomic_load_explicit(&all.used, memory_order_relaxed) >
					MEM_STACKS_MAX * 15 / 16)
			return 0;
		none = 1;
	}
	if (none)
		return 0;
	atomic_store_explicit(&all.hint, id, memory_order_relaxed);
	atomic_fetch_add_explicit(&all.used, 1, memory_order_relaxed);
	return id;
}

static void raise_end(uint32_t id)
{
	uint32_t end = atomic_load(&all.end);

	while (end <= id && !atomic_compare_exchange_weak(&all.end, &end, id + 1))
		;
}

/* The id of the stack that ends in NODE. */
static uint32_t id_of(struct tree *tree, uint32_t node)
{
	uint16_t there = atomic_load_explicit(&tree->stack[node], memory_order_acquire);
	uint32_t id;

	if (there)
		return there;
	id = id_take();
	if (!id)
		return 0;
	atomic_store(&all.stack[id].node, node);
	if (!atomic_compare_exchange_strong(&tree->stack[node], &there, (uint16_t)id)) {
		/* Another thread was first with the same stack. */
		atomic_fetch_sub_explicit(&all.used, 1, memory_order_relaxed);
		atomic_store(&all.stack[id].taken, 0);
		return there;
	}
	raise_end(id);
	return id;
}

uint32_t mem_stacks_add(const uintptr_t *pcs, size_t depth, bool truncated)
{
	struct tree *tree = atomic_load_explicit(&all.tree, memory_order_acquire);
	uint32_t node = ROOT, next, id;

	if (depth > MEM_STACK_DEPTH_MAX) {
		depth = MEM_STACK_DEPTH_MAX;
		truncated = true;
	}
	if (truncated)
		node = node_add(tree, ROOT, CUT_SHORT);
	for (; depth; depth--) {
		next = node_add(tree, node, pcs[depth - 1]);
		if (next == ROOT)
			break;
		node = next;
	}
	id = node == ROOT ? 0 : id_of(tree, node);
	if (depth || !id)
		atomic_fetch_add_explicit(&all.lost, 1, memory_order_relaxed);
	return id;
}

void mem_stacks_allocated(uint32_t stack, uint64_t count16, uint64_t bytes)
{
	struct stack *s = &all.stack[stack];

	atomic_fetch_add_explicit(&s->allocated_count16, count16, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->allocated_bytes, bytes, memory_order_relaxed);
}

void mem_stacks_freed(uint32_t stack, uint64_t count16, uint64_t bytes)
{
	struct stack *s = &all.stack[stack];

	atomic_fetch_add_explicit(&s->freed_count16, count16, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->freed_bytes, bytes, memory_order_relaxed);
}

static uintptr_t node_pc(uint64_t node)
{
	return (uintptr_t)(node >> NODE_BITS);
}

static uint32_t node_parent(uint64_t node)
{
	return (uint32_t)(node & (NODES - 1));
}

size_t mem_stacks_get(uint32_t stack, uintptr_t *pcs, size_t max, bool *truncated)
{
	struct tree *tree = atomic_load(&all.tree);
	uint32_t node = stack ? atomic_load(&all.stack[stack].node) : ROOT;
	size_t depth = 0;

	*truncated = false;
	while (node != ROOT && depth < max) {
		uint64_t word = atomic_load(&tree->node[node]);

		if (node_pc(word) == CUT_SHORT)
			break;
		pcs[depth++] = node_pc(word);
		node = node_parent(word);
	}
	*truncated = node != ROOT;
	return depth;
}

void mem_stacks_totals(uint32_t stack, struct mem_totals *totals)
{
	const struct stack *s = &all.stack[stack];

	totals->allocated_count = atomic_load(&s->allocated_count16) / 16;
	totals->allocated_bytes = atomic_load(&s->allocated_bytes);
	totals->freed_count = atomic_load(&s->freed_count16) / 16;
	totals->freed_bytes = atomic_load(&s->freed_bytes);
}

uint32_t mem_stacks_end(void)
{
	return atomic_load(&all.end);
}

bool mem_stacks_crowded(void)
{
	struct tree *tree = atomic_load(&all.tree);

	return atomic_load(&tree->used) > NODES_CROWDED || atomic_load(&all.used) > STACKS_CROWDED;
}

/* Add the path that ends in OLD's NODE to TREE. Returns where it ends there. */
static uint32_t copy_path(struct tree *tree, const struct tree *old, uint32_t node)
{
	uint32_t path[MEM_STACK_DEPTH_MAX + 1], depth = 0, end = ROOT, next;

	for (; node != ROOT; node = node_parent(atomic_load(&old->node[node])))
		path[depth++] = node;
	while (depth--) {
		next = node_add(tree, end, node_pc(atomic_load(&old->node[path[depth]])));
		if (next == ROOT)
			break;
		end = next;
	}
	return end;
}

/* Frees of it may still come in, when its allocation is no longer in the table but the thread
 * that freed it has not counted yet: then they are counted for whoever gets the id. */
static void forget(struct stack *s)
{
	struct stack *nobody = &all.stack[0];

	nobody->allocated_count16 += atomic_exchange(&s->allocated_count16, 0);
	nobody->allocated_bytes += atomic_exchange(&s->allocated_bytes, 0);
	nobody->freed_count16 += atomic_exchange(&s->freed_count16, 0);
	nobody->freed_bytes += atomic_exchange(&s->freed_bytes, 0);
	atomic_fetch_sub(&all.used, 1);
	atomic_store(&s->taken, 0);
}

static void replace_tree(struct tree *fresh, const bool keep[MEM_STACKS_MAX])
{
	struct tree *old = atomic_load(&all.tree);
	uint32_t end = 1, node;

	for (uint32_t id = 1; id < atomic_load(&all.end); id++) {
		struct stack *s = &all.stack[id];

		if (!atomic_load(&s->taken))
			continue;
		if (!keep[id]) {
			forget(s);
			continue;
		}
		node = copy_path(fresh, old, atomic_load(&s->node));
		atomic_store(&s->node, node);
		if (node != ROOT)
			atomic_store(&fresh->stack[node], (uint16_t)id);
		end = id + 1;
	}
	atomic_store(&all.end, end);
	atomic_store(&all.hint, 0);
	atomic_store(&all.tree, fresh);
	munmap(old, sizeof(*old));
}

bool mem_stacks_tidy(void (*mark)(bool keep[MEM_STACKS_MAX]))
{
	static bool keep[MEM_STACKS_MAX]; /* too big for the agent's small stack */
	struct tree *fresh = map(sizeof(*fresh));

	if (!fresh)
		return false;
	if (!close_doors()) {
		munmap(fresh, sizeof(*fresh));
		return false;
	}
	memset(keep, 0, sizeof(keep));
	mark(keep);
	replace_tree(fresh, keep);
	atomic_store(&all.closed, false);
	return true;
}

bool mem_stacks_clear(void (*empty)(void))
{
	struct tree *tree = atomic_load(&all.tree);

	if (!close_doors())
		return false;
	empty();
	/* In place: nobody looks. */
	memset((void *)tree, 0, sizeof(*tree));
	memset((void *)all.stack, 0, MEM_STACKS_MAX * sizeof(*all.stack));
	atomic_store(&all.end, 1);
	atomic_store(&all.used, 0);
	atomic_store(&all.hint, 0);
	atomic_store(&all.lost, 0);
	atomic_store(&all.closed, false);
	return true;
}

void mem_stacks_fork_child(void)
{
	for (size_t i = 0; i < sizeof(doors) / sizeof(doors[0]); i++)
		atomic_store(&doors[i].inside, 0);
	atomic_store(&all.closed, false);
}

uint64_t mem_stacks_lost(void)
{
	return atomic_load(&all.lost);
}
