/* Seed of the hash tables of this process. */
#include "profile/basics/hash.h"

#include "core/random.h"

_Atomic uint64_t hash_seed;

uint64_t hash_set_seed(void)
{
	uint64_t seed = random_below(UINT64_MAX) + 1, before = 0;

	return atomic_compare_exchange_strong(&hash_seed, &before, seed) ? seed : before;
}
