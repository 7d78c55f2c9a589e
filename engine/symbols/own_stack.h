/* A deep call on a stack of its own. The agent's threads have small ones. */
#ifndef ENGINE_SYMBOLS_OWN_STACK_H
#define ENGINE_SYMBOLS_OWN_STACK_H

#include <stddef.h>

/* A mapping with a guard page below, where size is 0 while there is none. */
struct own_stack {
	char *base;
	size_t size;
};

/* Map SIZE bytes, which cost memory only as far as they get used. Returns 0 or -errno. */
int own_stack_map(struct own_stack *stack, size_t size);
void own_stack_unmap(struct own_stack *stack);

/* Run FUNCTION(ARGUMENT) there and come back. It may not longjmp out. */
void own_stack_call(const struct own_stack *stack, void (*function)(void *), void *argument);

#endif
