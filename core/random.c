/* Random numbers, to spread actions over time. */
#include "core/random.h"

#include <stdatomic.h>

#include "core/clock.h"

/* Mix a counter and the time as in splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
 * 2014). */
uint64_t random_below(uint64_t bound)
{
	static _Atomic uint64_t state;
	uint64_t x = atomic_fetch_add_explicit(&state, 0x9e3779b97f4a7c15u, memory_order_relaxed);

	x ^= clock_ticks();
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) % bound;
}
