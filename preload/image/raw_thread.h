/* A thread that no C library knows of, and the ways from it into the image. */
#ifndef PRELOAD_IMAGE_RAW_THREAD_H
#define PRELOAD_IMAGE_RAW_THREAD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* Run RUN, which never returns, in a new thread of this process, on a stack that ends at STACK_HIGH.
 * Signals are blocked there as in the caller. Its id is in *ID from the start, and 0 again, with a wake
 * of that futex, when the kernel is done with the thread. Returns 0 or -errno. */
int raw_thread_start(void (*run)(void), void *stack_high, _Atomic pid_t *id);

/* Have the calling thread start as a program does whose entry and first stack these are. */
_Noreturn void raw_thread_enter(uintptr_t entry, const uintptr_t *stack);

/* Have it go on in FUNCTION, with THREAD_POINTER. */
_Noreturn void raw_thread_go_on(uintptr_t thread_pointer, void (*function)(void));

#endif
