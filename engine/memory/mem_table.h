/* The sampled allocations that are alive, by address. Bounded; a full table pushes out others.
 *
 * Every free looks here: mem_table_watches() reads one byte, and nothing is written unless the
 * address is one that was put in. No call takes a lock; all but mem_table_open() are
 * async-signal-safe and may be made from any thread at any time, before mem_table_open() too. */
#ifndef ENGINE_MEMORY_MEM_TABLE_H
#define ENGINE_MEMORY_MEM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEM_TABLE_MAX 32768

struct mem_allocation {
	uint64_t size;
	uint64_t weight; /* bytes that it stands for */
	uint64_t birth;  /* ticks */
	uint32_t stack;  /* id in mem_stacks.h */
};

/* Returns 0 or -ENOMEM. Again: nothing. */
int mem_table_open(void);

/* A byte counts the addresses watched among those that fall to it. Some 64 neighbouring bytes of
 * heap share one, so that a cache line of counters serves 4 KiB of heap: a free that misses costs
 * the program's cache next to nothing. */
#define MEM_FILTER_BITS 18

extern _Atomic uint8_t mem_filter[1u << MEM_FILTER_BITS] __attribute__((visibility("hidden")));

/* Moves the bits of an address from 6 on to the top of a word, where the index is taken from, and
 * adds to them those from 15 on: the arenas of glibc's threads lie 64 MiB apart, and shall not all
 * fall to the same lines. */
#define MEM_FILTER_FACTOR \
	(UINT64_C(1) << (64 - MEM_FILTER_BITS - 6) | UINT64_C(1) << (64 - MEM_FILTER_BITS - 15))

static inline size_t mem_filter_index(const void *p)
{
	return (size_t)((uint64_t)(uintptr_t)p * MEM_FILTER_FACTOR >> (64 - MEM_FILTER_BITS));
}

static inline bool mem_table_watches(const void *p)
{
	return __builtin_expect(__atomic_load_n((const uint8_t *)&mem_filter[mem_filter_index(p)],
						__ATOMIC_RELAXED) != 0,
				0);
}

/* Have mem_table_watches() be true for P from now on, with nothing in the table. */
void mem_table_watch(const void *p);

/* Put P in, which must not be there. True when another was pushed out for it, which is then in
 * *EVICTED. */
bool mem_table_insert(const void *p, const struct mem_allocation *allocation,
		      struct mem_allocation *evicted);

/* Take P out: true for one caller only, who gets what was put in. */
bool mem_table_remove(const void *p, struct mem_allocation *out);

/* Call VISIT for each entry that is there throughout. */
void mem_table_each(void (*visit)(void *context, const struct mem_allocation *allocation),
		    void *context);

/* Take out all that is in. */
void mem_table_clear(void);

size_t mem_table_bytes(void);

#endif
