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

#endif
