/* Native memory over all the files: which allocations live, and how long those lived that were
 * freed. Events are taken in the order of time, whatever their order in the file. */
#ifndef PROFILE_AGGREGATE_HEAP_H
#define PROFILE_AGGREGATE_HEAP_H

#include <stdatomic.h>

#include "profile/aggregate/feed.h"
#include "profile/aggregate/profile.h"

/* How many allocations of SIZE a sample stands for. WEIGHT are the bytes that the recording says
 * it stands for, 0 where it does not. async-profiler takes one allocation for every so many bytes
 * (mem_interval), thus one of this size with a chance of size/interval. */
double mem_scale(const struct settings *settings, int64_t size, int64_t weight);

/* One allocation that has not been freed. */
struct allocation {
	uint64_t address; /* 0: the place is free */
	int64_t time_ns;  /* of the event */
	int64_t birth_ns; /* earlier than time_ns after a realloc */
	int64_t size;
	float scale;
	uint32_t stack, thread, process;
};

/* Lifetimes are counted by powers of ten: below 1 us, 10 us, ... 100 s, 1000 s, longer. */
#define LIFE_BUCKETS 11

/* What is known of one stack. */
struct heap_stack {
	double allocated, allocated_bytes;
	double freed[LIFE_BUCKETS], freed_bytes[LIFE_BUCKETS];
};

/* What the builtin engine says is retained at the end of a chunk. */
struct retained {
	uint32_t stack, process;
	int64_t time_ns, oldest_ns;
	double count, bytes;
};

struct heap {
	/* What to read, filled in before heap_read(). */
	const struct query *query;
	struct feed *feed;
	bool want_stacks;           /* fill in STACKS too */
	void (*on_part)(void *arg); /* may be NULL */
	void *arg;

	struct profile profile; /* names, frames, stacks and threads; no samples */
	struct intern processes;

	/* So that memory has a bound however much lives, the files are read once for each of
	 * 2^PART_BITS parts of all addresses, and the table holds the living ones of PART. */
	unsigned part_bits;
	uint32_t part;
	atomic_bool overflow; /* there is more in the first part than there is room for */

	struct allocation *table; /* by address and process */
	uint32_t live, capacity;

	struct heap_stack *stacks; /* by number of the stack, where want_stacks is set */
	uint32_t stack_capacity;

	struct retained *first, *last; /* the first and the last statement of each process */
	uint32_t first_count, first_room, last_count, last_room;

	int64_t first_ns, last_ns; /* of all malloc and free events; first > last: none */
	bool out_of_memory;

	struct last_free *moves; /* by thread: what was freed last, in case it is a realloc */
	uint32_t last_free_capacity;
	uint8_t *reallocs; /* by stack: 0 not looked at, 1 no, 2 yes */
	uint32_t realloc_capacity;
};

/* Read the files. on_part(arg) is called for each part of the addresses, with the living
 * allocations of that part in the table. What was realloced from one part into another counts as
 * born then. Returns 0, -ENOMEM, or -EIO when something could not be read, which was told; what could be is
 * in HEAP. Free it with heap_free(). */
int heap_read(struct heap *heap);
void heap_free(struct heap *heap);

/* Begin with the first event again, for HEAP->part. */
void heap_start_part(struct heap *heap);

/* Add what lives as METRIC_LIVE to HEAP's own profile, but what is younger than the share TAIL of
 * the time: too young to be called a leak. */
void heap_add_to_profile(struct heap *heap, double tail);

static inline uint32_t heap_hash(uint64_t address)
{
	return (uint32_t)((address * 0x9E3779B97F4A7C15u) >> 32);
}

/* Whether ADDRESS belongs to the part that is being read. */
static inline bool heap_part_has(const struct heap *heap, uint64_t address)
{
	return (uint64_t)heap_hash(address) >> (32 - heap->part_bits) == heap->part;
}

/* Which process's a file is, by number, for allocations are told apart by it. */
uint32_t heap_process(struct heap *heap, const struct feed_chunk *from);

/* Take out all allocations of PROCESS at addresses that GONE says are gone. */
void heap_sweep(struct heap *heap, uint32_t process, bool (*gone)(void *arg, uint64_t address),
		void *arg);

/* One event, in the order of time. heap_read() calls these; tests do too. */
void heap_on_malloc(struct heap *heap, struct allocation *allocation);
void heap_on_free(struct heap *heap, uint64_t address, uint32_t process, int64_t time_ns,
		  uint32_t thread);

#endif
