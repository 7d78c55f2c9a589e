/* What a handler may look up: which rule leaves the frame at a program counter.
 *
 * The agent thread publishes a map of modules; handlers read it without a lock. A cache of single
 * words in front of it answers nearly every lookup, so that readers of the map proper, which are
 * counted on one shared word, are rare. */
#ifndef ENGINE_UNWIND_UNWIND_MAP_H
#define ENGINE_UNWIND_UNWIND_MAP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "arch/code.h"
#include "engine/cfi/cfi.h"

struct unwind_map_entry {
	uintptr_t start, end;             /* code of one module, as loaded */
	const struct unwind_table *table; /* NULL: nothing is known of it, or pending */
	bool readable;       /* all of [start, end), for as long as the process lives */
	bool pending;        /* not compiled yet: walks look each rule up */
	atomic_uint lookups; /* that they made so far */
};

/* So many lookups cost about as much time as to compile a library's table, which is worth it from
 * then on. */
#define UNWIND_LOOKUPS_MAX 256

/* Sorted by address, without overlap. Once published only counted in. */
struct unwind_map {
	size_t count;
	struct unwind_map_entry entries[];
};

/* Agent thread: put MAP (NULL: none) in place of the one published before, which is returned.
 * That one, and the tables that it names, may be in use until unwind_map_quiet() says so. */
struct unwind_map *unwind_map_publish(struct unwind_map *map);

/* Agent thread: true when no handler can still use a map replaced before this call; it forgets
 * cached answers as well. False when one was busy: ask again later. */
bool unwind_map_quiet(void);

/* In a forked child, where handlers of the parent's other threads never end: no map is published. */
void unwind_map_after_fork(void);

/* Async-signal-safe: whether there is code of a module at PC. */
bool unwind_map_has_module(uintptr_t pc);

/* Async-signal-safe: whether the SIZE bytes at ADDRESS are code that may be read where it is, as it never goes. */
bool unwind_map_is_readable(uintptr_t address, size_t size);

/* Async-signal-safe: where the function at PC begins, in a module that tells that and no rules; 0: not known. */
uintptr_t unwind_map_function(uintptr_t pc);

/* Async-signal-safe. The slow half of unwind_map_find. */
uint16_t unwind_map_search(uintptr_t pc);

/* Async-signal-safe: have unwind_map_find answer RULE for PC from now on. */
void unwind_map_cache_rule(uintptr_t pc, uint16_t rule);

/* Async-signal-safe. A walk looked up RULE for PC: where PC is in a module that has no table yet, have
 * unwind_map_find answer it from now on. */
void unwind_map_cache_lookup(uintptr_t pc, const struct unwind_rule *rule);

#define UNWIND_CACHE_BITS 13
/* Each word: 48 bits of address, 16 of rule. Zero is empty, as no code lies at address 0. */
extern _Atomic uint64_t unwind_cache[1 << UNWIND_CACHE_BITS];

static inline _Atomic uint64_t *unwind_cache_slot(uintptr_t pc)
{
	/* Fibonacci hashing: return addresses are dense in the low bits. */
	return &unwind_cache[(pc * 0x9e3779b97f4a7c15u) >> (64 - UNWIND_CACHE_BITS)];
}

/* Async-signal-safe: the rule for the instruction at PC, which has ARCH_ADDRESS_BITS. */
static inline uint16_t unwind_map_find(uintptr_t pc)
{
	uint64_t word = atomic_load_explicit(unwind_cache_slot(pc), memory_order_acquire);

	if (__builtin_expect(word >> 16 == pc, 1))
		return (uint16_t)word;
	return unwind_map_search(pc);
}

#endif
