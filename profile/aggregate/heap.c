/* Live allocations, and lifetimes of freed ones. */
#include "profile/aggregate/heap.h"

#include <stdlib.h>
#include <string.h>

#include "profile/basics/array.h"
#include "profile/basics/hash.h"

/* Maximum entries of the table, 48 bytes each. Parts are so small that the first fills at most five
 * eighths of the table; the other parts differ from it only by chance, so they fit too. */
#define CAPACITY_MAX (1u << 18)

/* A realloc is recorded as a free and then a malloc, within this time. */
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
	uint64_t hash = hash_add(hash_add(hash_start(), address), process);

	return (uint32_t)(hash >> 32) & (h->capacity - 1);
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

/* Remove the entry at index I, and move displaced entries up. */
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

static unsigned lifetime_bucket(int64_t ns)
{
	unsigned bucket = 0;

	for (int64_t limit = 1000; bucket < LIFE_BUCKETS - 1 && ns >= limit; limit *= 10)
		bucket++;
	return bucket;
}

static struct heap_stack *heap_get_stack(struct heap *h, uint32_t stack)
{
	if (array_reserve(&h->stacks, &h->stack_capacity, stack, sizeof(*h->stacks))) {
		h->out_of_memory = true;
		return NULL;
	}
	return &h->stacks[stack];
}

static struct last_free *heap_get_last_free(struct heap *h, uint32_t thread)
{
	return array_reserve(&h->last_frees, &h->last_free_capacity, thread, sizeof(*h->last_frees))
		       ? NULL
		       : &h->last_frees[thread];
}

/* Whether one of STACK's two innermost frames is realloc or a hook around it. */
static bool is_realloc(struct heap *h, uint32_t stack)
{
	const uint32_t *frames = intern_key(&h->profile.stacks, stack);
	uint32_t depth = intern_length(&h->profile.stacks, stack) / sizeof(*frames);

	if (array_reserve(&h->reallocs, &h->realloc_capacity, stack, 1))
		return false;
	if (!h->reallocs[stack]) {
		h->reallocs[stack] = 1;
		for (uint32_t i = 0; i < depth && i < 2; i++)
			if (strstr(profile_frame_name(&h->profile, frames[i]), "realloc"))
				h->reallocs[stack] = 2;
	}
	return h->reallocs[stack] == 2;
}

/* If A is a realloc of the memory that its thread just freed, undo that free and keep the birth
 * time. */
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

/* Make room for one more allocation. After an overflow, the part is discarded. */
static bool heap_reserve(struct heap *h)
{
	if (h->capacity == CAPACITY_MAX && !h->part && h->part_bits < HEAP_PART_BITS_MAX &&
	    h->live >= CAPACITY_MAX / 8 * 5)
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

struct heap_process *heap_get_process(struct heap *h, uint32_t process)
{
	if (array_reserve(&h->process_list, &h->process_capacity, process,
			  sizeof(*h->process_list))) {
		h->out_of_memory = true;
		return NULL;
	}
	return &h->process_list[process];
}

static const struct heap_process *process_of(const struct heap *h, uint32_t process)
{
	static const struct heap_process unknown;

	return process < h->process_capacity ? &h->process_list[process] : &unknown;
}

bool heap_process_has_snapshot(const struct heap *h, uint32_t process)
{
	return process_of(h, process)->last.found;
}

/* Whether there are two snapshots of different times; their difference is the growth. */
static bool has_two_snapshots(const struct heap_process *p)
{
	return p->last.found && p->first.time_ns < p->last.time_ns;
}

/* Half of the process's time: for single events, growth is the allocation in the later half. */
static int64_t half_of_process_time(const struct heap_process *p)
{
	return p->covered ? p->last_ns / 2 - p->first_ns / 2 : 0;
}

static void visit_allocation(const struct heap *h, const struct allocation *a,
			     void (*visit)(void *arg, const struct held *held), void *arg)
{
	const struct heap_process *p = process_of(h, a->process);
	int64_t end_ns = p->covered ? p->last_ns : h->last_ns;
	double scale = (double)a->scale, bytes = scale * (double)a->size;
	struct held held = { .stack = a->stack,
			     .thread = a->thread,
			     .process = a->process,
			     .growth_ns = half_of_process_time(p),
			     .time_ns = a->time_ns,
			     .age_ns = end_ns > a->birth_ns ? end_ns - a->birth_ns : 0 };

	if (has_two_snapshots(p))
		return;
	if (held.age_ns <= held.growth_ns)
		held.grown = bytes;
	if (!p->last.found) {
		held.count = scale;
		held.bytes = bytes;
		held.count_variance = h->query->weighted ? mem_scale_variance(scale) : 1;
		held.bytes_variance = held.count_variance * (double)a->size * (double)a->size;
	}
	visit(arg, &held);
}

/* A snapshot has no single samples; the estimate assumes that all allocations of a stack have the
 * same size. */
static void estimate_variance(struct held *held, int64_t interval)
{
	double size = held->count > 0 ? held->bytes / held->count : 0;
	double scale = size > 0 ? (double)interval / size : 0;

	if (scale <= 1)
		return;
	held->count_variance = held->count / scale * mem_scale_variance(scale);
	held->bytes_variance = held->count_variance * size * size;
}

static void visit_snapshots(const struct heap *h, uint32_t process,
			    void (*visit)(void *arg, const struct held *held), void *arg)
{
	const struct heap_process *p = &h->process_list[process];
	int64_t growth_ns = has_two_snapshots(p) ? p->last.time_ns - p->first.time_ns : 0;

	for (uint32_t i = 0; i < p->last.count; i++) {
		const struct retained *row = &p->last.rows[i];
		struct held held = { .stack = row->stack,
				     .thread = p->thread,
				     .process = process,
				     .count = row->count,
				     .bytes = row->bytes,
				     .grown = growth_ns ? row->bytes : 0,
				     .growth_ns = growth_ns,
				     .time_ns = p->last.time_ns,
				     .age_ns = p->last.time_ns - row->oldest_ns };

		estimate_variance(&held, h->profile.periods[METRIC_LIVE]);
		visit(arg, &held);
	}
	for (uint32_t i = 0; growth_ns && i < p->first.count; i++) {
		const struct retained *row = &p->first.rows[i];
		struct held held = { .stack = row->stack,
				     .thread = p->thread,
				     .process = process,
				     .grown = -row->bytes,
				     .growth_ns = growth_ns,
				     .time_ns = p->last.time_ns,
				     .age_ns = p->last.time_ns - row->oldest_ns };

		visit(arg, &held);
	}
}

static int compare_allocations(const void *a, const void *b)
{
	const struct allocation *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

void heap_finish_part(struct heap *h)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i < h->capacity; i++)
		if (h->table[i].address)
			h->table[live++] = h->table[i];
	if (!live)
		return;
	memset(h->table + live, 0, (h->capacity - live) * sizeof(*h->table));
	qsort(h->table, live, sizeof(*h->table), compare_allocations);
}

void heap_visit_held(const struct heap *h, void (*visit)(void *arg, const struct held *held),
		     void *arg)
{
	for (uint32_t i = 0; i < h->capacity; i++)
		if (h->table[i].address)
			visit_allocation(h, &h->table[i], visit, arg);
	for (uint32_t i = 0; i < h->process_capacity && (h->part + 1) >> h->part_bits; i++)
		visit_snapshots(h, i, visit, arg);
}

struct adding {
	struct profile *profile;
	bool times;
	int64_t cutoff_ns;
};

static void add_held_sample(void *arg, const struct held *held)
{
	const struct adding *adding = arg;

	if (held->count > 0 && held->time_ns <= adding->cutoff_ns)
		profile_add_sample(
			adding->profile,
			&(struct sample){ .stack = held->stack,
					  .thread = held->thread,
					  .metric = METRIC_LIVE,
					  .time_ms = adding->times ? held->time_ns / 1000000 : 0,
					  .count = held->count,
					  .total = held->bytes,
					  .count_variance = held->count_variance,
					  .total_variance = held->bytes_variance });
}

void heap_add_to_profile(struct heap *h, double tail)
{
	struct adding adding = { &h->profile, h->query->times, INT64_MAX };

	if (tail > 0 && h->first_ns <= h->last_ns)
		adding.cutoff_ns =
			h->last_ns - (int64_t)(tail * ((double)h->last_ns - (double)h->first_ns));
	heap_visit_held(h, add_held_sample, &adding);
}

/* The memory of the rows is kept for the next part. */
static void heap_clear_snapshots(struct heap *h)
{
	for (uint32_t i = 0; i < h->process_capacity; i++) {
		struct heap_process *p = &h->process_list[i];

		p->first.count = p->last.count = 0;
		p->first.found = p->last.found = false;
	}
}

void heap_start_part(struct heap *h)
{
	h->overflow = false;
	h->live = 0;
	if (!h->part)
		h->profile.losses = (struct losses){ 0 };
	heap_clear_snapshots(h);
	if (h->table)
		memset(h->table, 0, h->capacity * sizeof(*h->table));
	if (h->last_frees)
		memset(h->last_frees, 0, h->last_free_capacity * sizeof(*h->last_frees));
	if (h->stacks && !h->part)
		memset(h->stacks, 0, h->stack_capacity * sizeof(*h->stacks));
}

void heap_free(struct heap *h)
{
	profile_free(&h->profile);
	intern_free(&h->processes);
	free(h->table);
	free(h->stacks);
	for (uint32_t i = 0; i < h->process_capacity; i++) {
		free(h->process_list[i].first.rows);
		free(h->process_list[i].last.rows);
	}
	free(h->process_list);
	free(h->last_frees);
	free(h->reallocs);
	*h = (struct heap){ 0 };
}
