/* Replacements for the C library's functions on memory, for async-profiler.
 *
 * async-profiler gets a heap of its own (asyncprof/block_allocator.h). It needs no lock of the program's heap, and
 * neither heap has the other's blocks. Blocks that async-profiler received earlier, or from another function of the
 * C library, are freed by the C library. */
#ifndef ASYNCPROF_MEMORY_CALLS_H
#define ASYNCPROF_MEMORY_CALLS_H

#include <stddef.h>

struct memory_functions;

/* Install the replacements in the library that INSIDE points into, when its constructors run or later. Returns 0 or
 * -errno. */
int memory_calls_install(const void *inside);

/* async-profiler is about to interpose malloc(3) in all libraries, also its own imports. From now on the replacements
 * forward to the program's functions. */
void memory_calls_use_program_heap(void);

/* async-profiler does not check all its allocations: CALL runs before a failed one returns to it. */
void memory_calls_on_out_of_memory(void (*call)(void));
void memory_calls_out_of_memory(void);

/* Set the program's functions, which the library was bound to. */
void memory_calls_set_program(const struct memory_functions *functions);

void *engine_malloc(size_t bytes);
void *engine_calloc(size_t count, size_t bytes);
void *engine_realloc(void *block, size_t bytes);
void engine_free(void *block);
char *engine_strdup(const char *text);
char *engine_strndup(const char *text, size_t max);
void *engine_memset(void *memory, int byte, size_t bytes);
void engine_qsort(void *array, size_t count, size_t bytes,
		  int (*compare)(const void *, const void *));

#endif
