/* Sampling signals that others sent, in a program that has no handler for them. */
#ifndef PRELOAD_INTERPOSE_SENT_SIGNAL_H
#define PRELOAD_INTERPOSE_SENT_SIGNAL_H

#include <signal.h>

/* SIGNO arrived, as described by INFO: do what the kernel would do. If the program has blocked it, it stays pending;
 * by default it ends the process. In a sampling signal's handler, whose context is CONTEXT. */
void sent_signal_forward(int signo, const siginfo_t *info, void *context);

/* The same as a handler that also gets late samples, which it ignores: from a timer, or a thread of this process. */
void sent_signal_handle(int signo, siginfo_t *info, void *context);

#endif
