/* Lock-free lookup of the unwind rule at a program counter.
 *
 * The agent's thread publishes a map of modules, and handlers read it without a lock. A cache of
 * single words answers nearly every lookup. Readers of the map itself are counted on one shared
 * word, and are therefore rare. */
#ifndef ENGINE_UNWIND_UNWIND_MAP_H
#define ENGINE_UNWIND_UNWIND_MAP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "arch/arch.h"
#include "engine/cfi/cfi.h"

struct unwind_map_entry {
	uintptr_t start, end;             /* code of one module, as loaded */
	const struct unwind_table *table; /* NULL: no unwind information, or pending */
	bool readable;                    /* all of [start, end), for the life of the process */
	bool pending;                     /* not compiled yet: walks look up each rule */
	atomic_uint lookups;              /* number of these lookups */
};

/* After so many lookups, compiling a module's table costs no more than they did, and is worth
 * it. */
#define UNWIND_LOOKUPS_MAX 256

/* Sorted by address, without overlap. After publication only the counters change. */
struct unwind_map {
	size_t count;
	struct unwind_map_entry entries[];
};

/* Agent thread: publish MAP (NULL: none) and return the previous one. Handlers may use that one,
 * and its tables, until unwind_map_quiet() returns true. */
struct unwind_map *unwind_map_publish(struct unwind_map *map);

/* Agent thread: returns true when no handler can still use a map that was replaced before this
 * call; it also clears cached answers. Returns false when a handler is active: call it again
 * later. */
bool unwind_map_quiet(void);

/* Remove the map in a forked child, where the handlers of the parent's other threads never end. */
void unwind_map_after_fork(void);

/* True when PC is in the code of a module. Async-signal-safe. */
bool unwind_map_has_module(uintptr_t pc);

/* True when the SIZE bytes at ADDRESS are code that is never unmapped, and may be read in place.
 * Async-signal-safe. */
bool unwind_map_is_readable(uintptr_t address, size_t size);

/* The start of the function at PC, in a module that has function starts and no rules; 0 if unknown.
 * Async-signal-safe. */
uintptr_t unwind_map_function(uintptr_t pc);

/* Slow path of unwind_map_find(). Async-signal-safe. */
uint16_t unwind_map_search(uintptr_t pc);

/* Cache RULE for PC. Async-signal-safe. */
void unwind_map_cache_rule(uintptr_t pc, uint16_t rule);

/* Cache RULE, which a walk looked up for PC, if PC is in a module without a table.
 * Async-signal-safe. */
void unwind_map_cache_lookup(uintptr_t pc, const struct unwind_rule *rule);

#define UNWIND_CACHE_BITS 13
/* Each word: 48 bits of address, 16 bits of rule. Zero is empty, because no code lies at address
 * 0. */
extern _Atomic uint64_t unwind_cache[1 << UNWIND_CACHE_BITS];

static inline _Atomic uint64_t *unwind_cache_slot(uintptr_t pc)
{
	/* Fibonacci hashing: return addresses are dense in the low bits. */
	return &unwind_cache[(pc * 0x9e3779b97f4a7c15u) >> (64 - UNWIND_CACHE_BITS)];
}

/* The rule for the instruction at PC, which has ARCH_ADDRESS_BITS. Async-signal-safe. */
static inline uint16_t unwind_map_find(uintptr_t pc)
{
	uint64_t word = atomic_load_explicit(unwind_cache_slot(pc), memory_order_acquire);

	if (__builtin_expect(word >> 16 == pc, 1))
		return (uint16_t)word;
	return unwind_map_search(pc);
}

#endif
