/* The living allocations, and the lives of the others. */
#include "profile/aggregate/heap.h"

#include <stdlib.h>
#include <string.h>

#include "profile/basics/array.h"

/* The most places in the table, of 48 bytes each. Parts are made so small that the first fills five
 * eighths of them at most; then the others, as large but for chance, fit as well. */
#define CAPACITY_MAX (1u << 18)

/* A realloc is recorded as a free and a malloc, one right after the other. */
#define REALLOC_WITHIN_NS 1000000

struct last_free {
	int64_t freed_ns, birth_ns;
	double scale, size;
	uint32_t stack;
	uint8_t bucket;
	bool set;
};

double mem_scale(const struct settings *settings, int64_t size, int64_t weight)
{
	if (size <= 0)
		return 1;
	if (weight > 0)
		return (double)weight / (double)size;
	return size < settings->mem_interval ? (double)settings->mem_interval / (double)size : 1;
}

static uint32_t heap_home_index(const struct heap *h, uint64_t address, uint32_t process)
{
	return heap_hash(address ^ (uint64_t)process << 48) & (h->capacity - 1);
}

static uint32_t heap_find_index(const struct heap *h, uint64_t address, uint32_t process)
{
	uint32_t i = heap_home_index(h, address, process);

	while (h->table[i].address &&
	       (h->table[i].address != address || h->table[i].process != process))
		i = (i + 1) & (h->capacity - 1);
	return i;
}

static int heap_grow(struct heap *h)
{
	struct allocation *old = h->table;
	uint32_t capacity = h->capacity;

	h->capacity = capacity ? capacity * 2 : 1024;
	h->table = calloc(h->capacity, sizeof(*h->table));
	if (!h->table) {
		h->table = old;
		h->capacity = capacity;
		h->out_of_memory = true;
		return -1;
	}
	for (uint32_t i = 0; i < capacity; i++)
		if (old[i].address)
			h->table[heap_find_index(h, old[i].address, old[i].process)] = old[i];
	free(old);
	return 0;
}

/* Take out the entry at I, and move up those that were pushed on by it. */
static void heap_remove_index(struct heap *h, uint32_t i)
{
	uint32_t mask = h->capacity - 1, next = i, at;

	for (;;) {
		next = (next + 1) & mask;
		if (!h->table[next].address)
			break;
		at = heap_home_index(h, h->table[next].address, h->table[next].process);
		if (((next - at) & mask) >= ((next - i) & mask)) {
			h->table[i] = h->table[next];
			i = next;
		}
	}
	h->table[i].address = 0;
	h->live--;
}

void heap_sweep(struct heap *h, uint32_t process, bool (*gone)(void *arg, uint64_t address),
		void *arg)
{
	uint32_t i = 0;

	while (i < h->capacity) {
		const struct allocation *a = &h->table[i];

		if (a->address && a->process == process && gone(arg, a->address))
			heap_remove_index(h, i); /* another one may take its place */
		else
			i++;
	}
}

static unsigned lifetime_bucket(int64_t ns)
{
	unsigned bucket = 0;

	for (int64_t limit = 1000; bucket < LIFE_BUCKETS - 1 && ns >= limit; limit *= 10)
		bucket++;
	return bucket;
}

static struct heap_stack *heap_get_stack(struct heap *h, uint32_t stack)
{
	void *list = array_reserve(h->stacks, &h->stack_capacity, stack, sizeof(*h->stacks));

	if (!list) {
		h->out_of_memory = true;
		return NULL;
	}
	h->stacks = list;
	return &h->stacks[stack];
}

static struct last_free *heap_get_last_free(struct heap *h, uint32_t thread)
{
	void *list = array_reserve(h->moves, &h->last_free_capacity, thread, sizeof(*h->moves));

	if (!list)
		return NULL;
	h->moves = list;
	return &h->moves[thread];
}

/* The innermost frames name realloc, or a hook around it. */
static bool is_realloc(struct heap *h, uint32_t stack)
{
	void *list = array_reserve(h->reallocs, &h->realloc_capacity, stack, 1);
	const uint32_t *frames = intern_key(&h->profile.stacks, stack);
	uint32_t depth = intern_length(&h->profile.stacks, stack) / sizeof(*frames);

	if (!list)
		return false;
	h->reallocs = list;
	if (!h->reallocs[stack]) {
		h->reallocs[stack] = 1;
		for (uint32_t i = 0; i < depth && i < 2; i++)
			if (strstr(profile_frame_name(&h->profile, frames[i]), "realloc"))
				h->reallocs[stack] = 2;
	}
	return h->reallocs[stack] == 2;
}

/* The memory that this thread freed a moment ago lives on here: undo its death. */
static void heap_undo_last_free(struct heap *h, struct allocation *a)
{
	struct last_free *move = heap_get_last_free(h, a->thread);
	struct heap_stack *stack;

	if (!move || !move->set || a->time_ns - move->freed_ns > REALLOC_WITHIN_NS ||
	    !is_realloc(h, a->stack))
		return;
	a->birth_ns = move->birth_ns;
	stack = h->want_stacks ? heap_get_stack(h, move->stack) : NULL;
	if (stack) {
		stack->freed[move->bucket] -= move->scale;
		stack->freed_bytes[move->bucket] -= move->scale * move->size;
		stack->allocated -= move->scale;
		stack->allocated_bytes -= move->scale * move->size;
	}
}

/* After an overflow all is thrown away. */
static bool heap_reserve(struct heap *h)
{
	if (h->capacity == CAPACITY_MAX && !h->part && h->live >= CAPACITY_MAX / 8 * 5)
		h->overflow = true;
	return !h->overflow && (h->live < h->capacity / 4 * 3 || !heap_grow(h));
}

void heap_on_malloc(struct heap *h, struct allocation *a)
{
	bool wanted = heap_part_has(h, a->address);
	struct heap_stack *stack;
	struct last_free *move;
	uint32_t i;

	a->birth_ns = a->time_ns;
	if (h->want_stacks) {
		heap_undo_last_free(h, a);
		stack = wanted ? heap_get_stack(h, a->stack) : NULL;
		if (stack) {
			stack->allocated += (double)a->scale;
			stack->allocated_bytes += (double)a->scale * (double)a->size;
		}
		move = heap_get_last_free(h, a->thread);
		if (move)
			move->set = false;
	}
	if (!wanted || !heap_reserve(h))
		return;
	i = heap_find_index(h, a->address, a->process);
	if (!h->table[i].address)
		h->live++;
	h->table[i] = *a;
}

static void heap_count_lifetime(struct heap *h, const struct allocation *a, int64_t time_ns,
				uint32_t thread)
{
	unsigned bucket = lifetime_bucket(time_ns - a->birth_ns);
	struct heap_stack *stack = heap_get_stack(h, a->stack);
	struct last_free *move = heap_get_last_free(h, thread);

	if (stack) {
		stack->freed[bucket] += (double)a->scale;
		stack->freed_bytes[bucket] += (double)a->scale * (double)a->size;
	}
	if (move)
		*move = (struct last_free){ .freed_ns = time_ns,
					    .birth_ns = a->birth_ns,
					    .scale = (double)a->scale,
					    .size = (double)a->size,
					    .stack = a->stack,
					    .bucket = (uint8_t)bucket,
					    .set = true };
}

void heap_on_free(struct heap *h, uint64_t address, uint32_t process, int64_t time_ns,
		  uint32_t thread)
{
	struct last_free *move;
	bool known = h->live && heap_part_has(h, address);
	uint32_t i = known ? heap_find_index(h, address, process) : 0;

	if (known && h->table[i].address) {
		if (h->want_stacks)
			heap_count_lifetime(h, &h->table[i], time_ns, thread);
		heap_remove_index(h, i);
	} else if (h->want_stacks) {
		move = heap_get_last_free(h, thread);
		if (move)
			move->set = false;
	}
}

void heap_add_to_profile(struct heap *h, double tail)
{
	int64_t cutoff = INT64_MAX;

	if (tail > 0 && h->first_ns <= h->last_ns)
		cutoff = h->last_ns - (int64_t)(tail * ((double)h->last_ns - (double)h->first_ns));
	for (uint32_t i = 0; i < h->capacity; i++) {
		const struct allocation *a = &h->table[i];
		double scale = h->query->weighted ? (double)a->scale : 1;

		if (a->address && a->time_ns <= cutoff)
			profile_add(&h->profile, a->stack, a->thread, METRIC_LIVE, scale,
				    scale * (double)a->size);
	}
}

void heap_start_part(struct heap *h)
{
	h->overflow = false;
	h->live = 0;
	h->first_count = h->last_count = 0;
	if (h->table)
		memset(h->table, 0, h->capacity * sizeof(*h->table));
	if (h->moves)
		memset(h->moves, 0, h->last_free_capacity * sizeof(*h->moves));
	if (h->stacks && !h->part)
		memset(h->stacks, 0, h->stack_capacity * sizeof(*h->stacks));
}

void heap_free(struct heap *h)
{
	profile_free(&h->profile);
	intern_free(&h->processes);
	free(h->table);
	free(h->stacks);
	free(h->first);
	free(h->last);
	free(h->moves);
	free(h->reallocs);
	*h = (struct heap){ 0 };
}
