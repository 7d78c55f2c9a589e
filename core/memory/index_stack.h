/* Lock-free stack of the free places of an array, which are numbered from 1. Async-signal-safe. */
#ifndef CORE_MEMORY_INDEX_STACK_H
#define CORE_MEMORY_INDEX_STACK_H

#include <stdatomic.h>
#include <stdint.h>

/* Zeroed memory is an empty stack. */
struct index_stack {
	/* The first number in the low half, 0 for none. The high half counts changes: it detects reuse between load
	 * and exchange (ABA). */
	_Atomic uint64_t top;
};

/* Returns where place NUMBER stores the number after it. That memory is never freed. */
typedef _Atomic uint32_t *index_stack_next(uint32_t number);

/* Returns a number; 0 if there is none. */
static inline uint32_t index_stack_pop(struct index_stack *stack, index_stack_next *next)
{
	uint64_t top = atomic_load(&stack->top), after;

	do {
		if (!(uint32_t)top)
			return 0;
		after = ((top >> 32) + 1) << 32 | atomic_load(next((uint32_t)top));
	} while (!atomic_compare_exchange_weak(&stack->top, &top, after));
	return (uint32_t)top;
}

static inline void index_stack_push(struct index_stack *stack, index_stack_next *next,
				    uint32_t number)
{
	uint64_t top = atomic_load(&stack->top), after;

	do {
		atomic_store(next(number), (uint32_t)top);
		after = ((top >> 32) + 1) << 32 | number;
	} while (!atomic_compare_exchange_weak(&stack->top, &top, after));
}

#endif
