/* Threads of the program, from their first moment to their last. */
#ifndef PRELOAD_INTERPOSE_THREAD_H
#define PRELOAD_INTERPOSE_THREAD_H

#include <stdint.h>

/* Make the key whose destructor tells a thread's end. Returns 0 or -errno. */
int thread_key_create(void);

/* Tell the calling thread's end too, as if we had made it: for the main thread, which may end
 * by pthread_exit while the process goes on. */
void thread_tell_end(void);

/* In the calling thread, from a frame near its stack's beginning: an address such that all up
 * to it can be read, and that the frames of the C library's own start routine lie below. */
uintptr_t thread_stack_high(void);

#endif
