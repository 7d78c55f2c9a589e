/* Lock-free allocator for async-profiler's own memory.
 *
 * async-profiler does not use the program's heap. Its threads would wait for locks that a thread of the program
 * holds. In a forked child that thread does not exist. Any thread; async-signal-safe, also in a forked child. Freed
 * memory is reused by the allocator; the pages of large blocks are returned to the kernel. */
#ifndef ASYNCPROF_BLOCK_ALLOCATOR_H
#define ASYNCPROF_BLOCK_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/* The same as malloc(3), calloc(3) and strndup(3). Return NULL and set errno on failure. */
void *block_allocate(size_t bytes);
void *block_allocate_zeroed(size_t count, size_t bytes);
char *block_copy_text(const char *text, size_t max);

/* The same as realloc(3) and free(3), for a block of this allocator that is not NULL. */
void *block_resize(void *block, size_t bytes);
void block_free(void *block);

/* True when BLOCK is from this allocator; false for NULL. */
bool block_is_ours(const void *block);

#endif
