/* Random paths through four functions, for programs with many different stacks. The program defines at_the_end(). */
#ifndef TEST_PROGRAMS_RANDOM_PATH_H
#define TEST_PROGRAMS_RANDOM_PATH_H

#include <stdint.h>

static void at_the_end(void);
static void walk(uint32_t *seed, int depth);

#define STEP(name)                                                            \
	__attribute__((noinline)) static void name(uint32_t *seed, int depth) \
	{                                                                     \
		walk(seed, depth - 1);                                        \
		__asm__ volatile(""); /* it is no tail call */                \
	}

STEP(north)
STEP(east)
STEP(south)
STEP(west)

/* Call at_the_end() below DEPTH of these functions. */
__attribute__((noinline)) static void walk(uint32_t *seed, int depth)
{
	static void (*const steps[])(uint32_t *, int) = { north, east, south, west };

	if (!depth) {
		at_the_end();
	} else {
		*seed = *seed * 1664525u + 1013904223u;
		steps[*seed >> 30](seed, depth);
	}
	__asm__ volatile("");
}

#endif
