/* malloc and its kin, as the program calls them. */
#ifndef PRELOAD_INTERPOSE_MEM_H
#define PRELOAD_INTERPOSE_MEM_H

/* Find out what the next allocator can do, before its calls are sampled. Not in the constructor:
 * it takes a while. */
void mem_look_at_next(void);

/* The file whose malloc the program calls in place of ours: the executable, where that defines
 * one, or a library preloaded before us. What it does not hand on is not seen. NULL when the
 * calls come to us. Not in signal context; valid for ever. */
const char *mem_passed_by(void);

/* Let the library that INSIDE points into call us for what async-profiler takes for the functions
 * behind its hooks, unless the program's calls go elsewhere. It would take a stub of the executable,
 * where that has one because it does not move and uses a function's address, and the stub leads to
 * the hook. Returns 0 or -errno. */
int mem_serve_library(const void *inside);

#endif
