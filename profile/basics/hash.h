/* Seeded hash for tables whose keys come from recordings. The seed differs between processes, so a recording cannot
 * contain keys that collide in every process. No output may depend on the order of such a table's slots. */
#ifndef PROFILE_BASICS_HASH_H
#define PROFILE_BASICS_HASH_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint64_t hash_seed; /* 0: not set yet */

/* Set the seed. Returns it. Any thread. */
uint64_t hash_set_seed(void);

/* Returns the hash of no words, to be continued with hash_add(). */
static inline uint64_t hash_start(void)
{
	uint64_t seed = atomic_load_explicit(&hash_seed, memory_order_relaxed);

	return seed ? seed : hash_set_seed();
}

/* Returns HASH continued with WORD. The 128-bit product lets each bit of both change all bits of the result; with 64
 * bits, words that differ in their highest bits would collide with any seed. */
static inline uint64_t hash_add(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * 0x9E3779B97F4A7C15u;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
