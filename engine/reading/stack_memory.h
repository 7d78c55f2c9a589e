/* The readable range of a thread's current stack. The stack stays mapped as long as the thread
 * lives, so a page needs one successful probe. The result is cached for the thread's own stack.
 * Call it in that thread. Async-signal-safe. */
#ifndef ENGINE_READING_STACK_MEMORY_H
#define ENGINE_READING_STACK_MEMORY_H

#include "engine/reading/memory_reader.h"

/* Set READER to the stack at SP. If SP is below STACK_HIGH and the pages between them can be read,
 * that is the thread's own stack, which ends there; some pages are probed by each call. Beyond
 * them, or if the stack's end is unknown, READER probes it page by page, unless it is distrusted. */
void stack_memory_move(struct memory_reader *reader, uintptr_t sp, uintptr_t stack_high);

#endif
