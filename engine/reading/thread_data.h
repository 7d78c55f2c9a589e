/* Whether the calling thread has the thread-local data of the C library.
 *
 * A thread of clone(2) may have a thread pointer of its own, and a thread may change its thread pointer for a while, as
 * emulators do. In such a thread thread-local variables, errno included, are other memory or none. glibc registers a
 * list of locks (get_robust_list(2)) at a fixed distance from each thread's pointer. musl does not. There, and in
 * programs whose main thread has no such list, every thread counts as the C library's. */
#ifndef ENGINE_READING_THREAD_DATA_H
#define ENGINE_READING_THREAD_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* In the main thread, once: find that distance. */
void thread_data_begin(void);

/* Make no system call for this any more: the program handles its system calls itself, or a filter may end it at one. From
 * then on every thread counts as the C library's. */
void thread_data_end(void);

/* True if the thread that CONTEXT, a handler's, interrupted has the C library's thread pointer. Mostly without a system
 * call. In signal handlers. */
bool thread_data_is_own(const ucontext_t *context);

/* The calling thread, which has that pointer, has its alternate signal stack at STACK. Async-signal-safe. */
void thread_data_note(const void *stack);

#endif
