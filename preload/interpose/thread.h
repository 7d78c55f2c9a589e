/* Threads of the program, from their first moment to their last. */
#ifndef PRELOAD_INTERPOSE_THREAD_H
#define PRELOAD_INTERPOSE_THREAD_H

/* Make the key whose destructor tells a thread's end. Returns 0 or -errno. */
int thread_key_create(void);

#endif
