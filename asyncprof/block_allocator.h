/* async-profiler's own memory: none of it is in the program's heap, where its threads would wait for locks that a
 * thread of the program holds, which may have died with them. Without locks: these may be called in whatever thread,
 * also in a signal's handler and in a forked child. Memory that is given back stays ours; of large blocks the pages
 * go. */
#ifndef ASYNCPROF_BLOCK_ALLOCATOR_H
#define ASYNCPROF_BLOCK_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/* As malloc(3), calloc(3) and strndup(3). NULL with errno when there is none. */
void *block_allocate(size_t bytes);
void *block_allocate_zeroed(size_t count, size_t bytes);
char *block_copy_text(const char *text, size_t max);

/* As realloc(3) and free(3), of such a block, which is not NULL. */
void *block_resize(void *block, size_t bytes);
void block_free(void *block);

/* False of NULL. */
bool block_is_ours(const void *block);

#endif
