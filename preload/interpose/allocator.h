/* malloc and its kin, as the program calls them. */
#ifndef PRELOAD_INTERPOSE_ALLOCATOR_H
#define PRELOAD_INTERPOSE_ALLOCATOR_H

/* Find out what the next allocator can do, and whether calls come here at all (mem_passed_by()), before
 * they are sampled. It
 * asks the loader, so it is for a thread that the C library knows: once, the next time it does nothing. */
void allocator_find_next(void);

/* Let the library that INSIDE points into call us for what async-profiler takes for the functions
 * behind its hooks, unless the program's calls go elsewhere. It would take a stub of the executable,
 * where that has one because it does not move and uses a function's address, and the stub leads to
 * the hook. Returns 0 or -errno. */
int mem_serve_library(const void *inside);

#endif
