/* What async-profiler calls instead of the C library's functions on memory. Its own is in a heap of its own
 * (asyncprof/block_allocator.h), so that it needs no lock of the program's, and neither of the two finds anything of the other's in
 * its heap. What it was given before, or by another function of the C library's, is given back there. */
#ifndef ASYNCPROF_MEMORY_CALLS_H
#define ASYNCPROF_MEMORY_CALLS_H

#include <stddef.h>

/* Of the library that INSIDE points into, as replaced_calls_install(); as soon as its constructors run, or later.
 * Returns 0 or -errno. */
int memory_redirect(const void *inside);

/* It is about to stand in front of malloc(3) in all libraries, its own one too, and from there calls what we put into its
 * imports: from now on that is the program's, as it was bound to. */
void memory_calls_use_program_heap(void);

/* The program's, in place of what the library was bound to. */
struct memory_functions {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
};

void memory_bind(const struct memory_functions *functions);

void *engine_malloc(size_t bytes);
void *engine_calloc(size_t count, size_t bytes);
void *engine_realloc(void *block, size_t bytes);
void engine_free(void *block);
char *engine_strdup(const char *text);
char *engine_strndup(const char *text, size_t max);
void *engine_memset(void *memory, int byte, size_t bytes);

#endif
