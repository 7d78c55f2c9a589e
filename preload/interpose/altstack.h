/* The stack that a thread has for signals. */
#ifndef PRELOAD_INTERPOSE_ALTSTACK_H
#define PRELOAD_INTERPOSE_ALTSTACK_H

#include <signal.h>
#include <stdint.h>

typedef void (*sample_handler)(int signo, siginfo_t *info, void *context);

/* A sample needs no room where the program is: a thread may have filled its stack but for a few
 * bytes, or have gone to one of its own making, and the kernel alone writes up to 4 KiB, or 12 with
 * the newest processors' registers. So each thread of the program has a stack for signals from us
 * for as long as it has none of its own, or only a small one, and is not shown that. */

/* One for a thread to come; NULL when there is no memory. It is begun with, or given back. */
void *altstack_allocate(void);
void altstack_free(void *stack);

/* In a new thread whose own stack is mapped from LOW to HIGH: it has STACK, which may be NULL. */
void altstack_install(void *stack, uintptr_t low, uintptr_t high);

/* The same in the first thread, whose stack is well known. */
void altstack_install_main(void);

/* The calling thread ends: give back what it was given. */
void altstack_remove(void);

/* In a signal's handler: run HANDLER with the same arguments, on the stack that the signal has
 * interrupted if the handler was brought away from there to one of ours, and there is room. An engine
 * that takes its own place for one on the thread's stack ends its walk at once when it is not. */
void altstack_go_back(sample_handler handler, int signo, siginfo_t *info, void *context);

#endif
