/* Loads from a stack that may be anything. Memory is trusted page by page once the kernel has
 * read from it; a thread remembers which part of its own stack was. Async-signal-safe. */
#ifndef ENGINE_STACK_MEMORY_H
#define ENGINE_STACK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_PAGE ((uintptr_t)4096)
/* The most pages that one walk asks the kernel about. */
#define STACK_PROBES_MAX 256

/* The memory of one walk; starts zeroed. */
struct stack_memory {
	uintptr_t low, high; /* trusted; whole words */
	uintptr_t page;      /* one more trusted page, elsewhere; 0: none */
	unsigned probes;
};

/* The walk is now at SP, on a stack that ends at STACK_HIGH (0: unknown) if SP is below that. */
void stack_memory_move(struct stack_memory *memory, uintptr_t sp, uintptr_t stack_high);

/* True when the 8 bytes at ADDRESS, which is a multiple of 8, can be read; trusted from then on.
 * The slow half of stack_memory_read. */
bool stack_memory_extend(struct stack_memory *memory, uintptr_t address);

/* True when the byte at ADDRESS can be read now. */
bool stack_memory_probe(uintptr_t address);

/* Load the word at ADDRESS, which must be a multiple of 8. False when it cannot be read. */
static inline bool stack_memory_read(struct stack_memory *memory, uintptr_t address,
				     uintptr_t *value)
{
	/* HIGH is at least LOW + 8 or both are 0; one comparison covers both bounds. */
	if (__builtin_expect(address - memory->low >= memory->high - memory->low, 0) &&
	    !stack_memory_extend(memory, address))
		return false;
	*value = *(const volatile uintptr_t *)address;
	return true;
}

#endif
