/* Table of the live sampled allocations, by address. Its size is fixed; a full table evicts
 * entries.
 *
 * Every free calls mem_table_watches(), which reads one byte. Nothing is written unless the address
 * is in the table. No function takes a lock. All except mem_table_open() are async-signal-safe, and
 * may be called by any thread at any time, also before mem_table_open(). */
#ifndef ENGINE_MEMORY_MEM_TABLE_H
#define ENGINE_MEMORY_MEM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEM_TABLE_MAX 32768

struct mem_allocation {
	uint64_t size;
	uint64_t weight; /* bytes that this sample stands for */
	uint64_t birth;  /* ticks */
	uint32_t stack;  /* id in mem_stacks.h */
};

/* Allocate the table. Returns 0 or -ENOMEM; a second call does nothing. */
int mem_table_open(void);

/* Counting filter: each byte counts the watched addresses that map to it. About 64 adjacent bytes
 * of heap share one counter, so that a cache line of counters covers 4 KiB of heap. So a free that
 * is not in the table has almost no effect on the program's cache. */
#define MEM_FILTER_BITS 18

extern _Atomic uint8_t mem_filter[1u << MEM_FILTER_BITS] __attribute__((visibility("hidden")));

/* Moves the address bits from 6 on to the top of the word, where the index is taken from. Adds the
 * bits from 15 on: the arenas of glibc's threads are 64 MiB apart, and must not all map to the same
 * lines. */
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

/* Make mem_table_watches() true for P, without an entry in the table. */
void mem_table_watch(const void *p);

/* Insert P, which must not be in the table. Returns true when another entry was evicted; *EVICTED
 * is then that one. */
bool mem_table_insert(const void *p, const struct mem_allocation *allocation,
		      struct mem_allocation *evicted);

/* Remove P and set *OUT to its entry. Returns true to one caller only. */
bool mem_table_remove(const void *p, struct mem_allocation *out);

/* Call VISIT for each entry that is present during the whole call. */
void mem_table_each(void (*visit)(void *context, const struct mem_allocation *allocation),
		    void *context);

/* Remove all entries. */
void mem_table_clear(void);

#endif
