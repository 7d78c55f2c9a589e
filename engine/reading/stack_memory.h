/* How much of the stack that a thread is on is there. It does not go while the thread is: its pages
 * are trusted once the kernel has read from them, and those of the thread's own stack are remembered.
 * Async-signal-safe. */
#ifndef ENGINE_READING_STACK_MEMORY_H
#define ENGINE_READING_STACK_MEMORY_H

#include "engine/reading/memory_reader.h"

/* The walk that READER reads for is now at SP, on the thread's own stack, which ends at STACK_HIGH, if
 * SP is below that; else on one that ends nobody knows where, which is trusted page by page from SP on
 * unless READER is in doubt. */
void stack_memory_move(struct memory_reader *reader, uintptr_t sp, uintptr_t stack_high);

#endif
