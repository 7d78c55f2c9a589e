/* Alternate signal stacks. */
#ifndef PRELOAD_INTERPOSE_ALTSTACK_H
#define PRELOAD_INTERPOSE_ALTSTACK_H

#include <signal.h>
#include <stdint.h>

typedef void (*sample_handler)(int signo, siginfo_t *info, void *context);

/* A sample must not need space on the program's stack. A thread may have a few free bytes only, or run on a stack of
 * its own making. The kernel writes up to 4 KiB, or 12 with the registers of the newest processors. So each thread
 * of the program without an alternate signal stack, with a small one, or with that of another thread, gets one from us.
 * The program does not see it. */

/* Allocate a stack for a new thread; NULL when there is no memory. It is installed or freed. */
void *altstack_allocate(void);
void altstack_free(void *stack);

/* Install STACK, which may be NULL, in a new thread, whose own stack is mapped from LOW to HIGH. */
void altstack_install(void *stack, uintptr_t low, uintptr_t high);

/* The same in the first thread. */
void altstack_install_main(void);

/* Remove and free the calling thread's stack at its end. */
void altstack_remove(void);

/* In a forked child. */
void altstack_reset_in_child(void);

/* Before an exec, and when it has failed: remove and install the calling thread's stack. The kernel would keep SS_AUTODISARM
 * for the next program, which sigaltstack(2) shows. Async-signal-safe. */
void altstack_before_exec(void);
void altstack_exec_failed(void);

/* In a signal handler: run HANDLER with the same arguments. If the signal switched to one of our stacks, and the
 * interrupted stack has space, HANDLER runs on the interrupted stack. An engine that expects to run on the thread's
 * stack ends its walk at once otherwise. */
void altstack_run_handler(sample_handler handler, int signo, siginfo_t *info, void *context);

#endif
