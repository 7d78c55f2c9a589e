/* Interposed functions of malloc(3). */
#ifndef PRELOAD_INTERPOSE_ALLOCATOR_H
#define PRELOAD_INTERPOSE_ALLOCATOR_H

#include <stddef.h>

/* Find the functions of the next allocator, and whether the program's calls come here at all (mem_passed_by()),
 * before allocations are sampled. It calls the dynamic linker, so only in a thread that the C library knows. Does
 * nothing the second time. */
void allocator_find_next(void);

struct memory_functions {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *p, size_t size);
	void (*free)(void *p);
};

/* The interposers, under names that are bound within this library. By their own names they may be stubs of the
 * executable. */
extern const struct memory_functions allocator_functions;
int our_posix_memalign(void **p, size_t align, size_t size);
void *our_aligned_alloc(size_t align, size_t size);

#endif
