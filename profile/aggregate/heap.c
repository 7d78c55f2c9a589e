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

struct heap_move {
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

static uint32_t home(const struct heap *h, uint64_t address, uint32_t process)
{
	return heap_hash(address ^ (uint64_t)process << 48) & (h->capacity - 1);
}

static uint32_t find(const struct heap *h, uint64_t address, uint32_t process)
{
	uint32_t i = home(h, address, process);

	while (h->table[i].address &&
	       (h->table[i].address != address || h->table[i].process != process))
		i = (i + 1) & (h->capacity - 1);
	return i;
}

static int grow(struct heap *h)
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
			h->table[find(h, old[i].address, old[i].process)] = old[i];
	free(old);
	return 0;
}

/* Take out the entry at I, and move up those that were pushed on by it. */
static void take_out(struct heap *h, uint32_t i)
{
	uint32_t mask = h->capacity - 1, next = i, at;

	for (;;) {
		next = (next + 1) & mask;
		if (!h->table[next].address)
			break;
		at = home(h, h->table[next].address, h->table[next].process);
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
			take_out(h, i); /* another one may take its place */
		else
			i++;
	}
}

static unsigned life_bucket(int64_t ns)
{
	unsigned bucket = 0;

	for (int64_t limit = 1000; bucket < LIFE_BUCKETS - 1 && ns >= limit; limit *= 10)
		bucket++;
	return bucket;
}

static struct heap_stack *stack_at(struct heap *h, uint32_t stack)
{
	void *list = room_for(h->stacks, &h->stack_room, stack, sizeof(*h->stacks));

	if (!list) {
		h->out_of_memory = true;
		return NULL;
	}
	h->stacks = list;
	return &h->stacks[stack];
}

static struct heap_move *move_at(struct heap *h, uint32_t thread)
{
	void *list = room_for(h->moves, &h->move_room, thread, sizeof(*h->moves));

	if (!list)
		return NULL;
	h->moves = list;
	return &h->moves[thread];
}

/* The innermost frames name realloc, or a hook around it. */
static bool is_realloc(struct heap *h, uint32_t stack)
{
	void *list = room_for(h->reallocs, &h->realloc_room, stack, 1);
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
static void revive(struct heap *h, struct allocation *a)
{
	struct heap_move *move = move_at(h, a->thread);
	struct heap_stack *stack;

	if (!move || !move->set || a->time_ns - move->freed_ns > REALLOC_WITHIN_NS ||
	    !is_realloc(h, a->stack))
		return;
	a->birth_ns = move->birth_ns;
	stack = h->want_stacks ? stack_at(h, move->stack) : NULL;
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
	return !h->overflow && (h->live < h->capacity / 4 * 3 || !grow(h));
}

void heap_malloc(struct heap *h, struct allocation *a)
{
	bool wanted = heap_wants(h, a->address);
	struct heap_stack *stack;
	struct heap_move *move;
	uint32_t i;

	a->birth_ns = a->time_ns;
	if (h->want_stacks) {
		revive(h, a);
		stack = wanted ? stack_at(h, a->stack) : NULL;
		if (stack) {
			stack->allocated += (double)a->scale;
			stack->allocated_bytes += (double)a->scale * (double)a->size;
		}
		move = move_at(h, a->thread);
		if (move)
			move->set = false;
	}
	if (!wanted || !heap_reserve(h))
		return;
	i = find(h, a->address, a->process);
	if (!h->table[i].address)
		h->live++;
	h->table[i] = *a;
}

static void count_death(struct heap *h, const struct allocation *a, int64_t time_ns,
			uint32_t thread)
{
	unsigned bucket = life_bucket(time_ns - a->birth_ns);
	struct heap_stack *stack = stack_at(h, a->stack);
	struct heap_move *move = move_at(h, thread);

	if (stack) {
		stack->freed[bucket] += (double)a->scale;
		stack->freed_bytes[bucket] += (double)a->scale * (double)a->size;
	}
	if (move)
		*move = (struct heap_move){ .freed_ns = time_ns,
					    .birth_ns = a->birth_ns,
					    .scale = (double)a->scale,
					    .size = (double)a->size,
					    .stack = a->stack,
					    .bucket = (uint8_t)bucket,
					    .set = true };
}

void heap_freed(struct heap *h, uint64_t address, uint32_t process, int64_t time_ns,
		uint32_t thread)
{
	struct heap_move *move;
	bool known = h->live && heap_wants(h, address);
	uint32_t i = known ? find(h, address, process) : 0;

	if (known && h->table[i].address) {
		if (h->want_stacks)
			count_death(h, &h->table[i], time_ns, thread);
		take_out(h, i);
	} else if (h->want_stacks) {
		move = move_at(h, thread);
		if (move)
			move->set = false;
	}
}

void heap_profile(struct heap *h, double tail)
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

void heap_restart(struct heap *h)
{
	h->overflow = false;
	h->live = 0;
	h->first_count = h->last_count = 0;
	if (h->table)
		memset(h->table, 0, h->capacity * sizeof(*h->table));
	if (h->moves)
		memset(h->moves, 0, h->move_room * sizeof(*h->moves));
	if (h->stacks && !h->part)
		memset(h->stacks, 0, h->stack_room * sizeof(*h->stacks));
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
