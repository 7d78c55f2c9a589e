/* Handlers of the program run through entries of ours, so that a signal of the program's ends a call
 * that a sample has interrupted.
 *
 * Behind the sample's handler the call is made again, by an interposer, by the kernel (SA_RESTART) or
 * because async-profiler has set the pc back to it. A signal of the program's that comes before the
 * thread is in the call again runs its handler, and the call would then wait as if nothing had
 * been. So each handler of the program begins in an entry of ours, which counts it for the
 * interposers, and moves a context that stands before such a call behind it, with EINTR. It then
 * jumps to the handler: no frame of ours stands in its stack.
 *
 * There is an entry for each of the program's handlers, and for good: the kernel's pointer tells by
 * itself which handler is meant, in whatever thread, child or order dispositions are changed.
 * Handlers that the program installs past the C library have none; nor have those of faults, which
 * no call waits for. */
#ifndef PRELOAD_INTERPOSE_PROGRAM_HANDLER_H
#define PRELOAD_INTERPOSE_PROGRAM_HANDLER_H

#include <signal.h>

/* What to install for the program's HANDLER of SIGNO: its entry, or itself where it is none or
 * there is no entry left. Async-signal-safe. */
__sighandler_t program_handler_entry(int signo, __sighandler_t handler);

/* HANDLER, which may be an entry, as the program is to see it. Async-signal-safe. */
__sighandler_t program_handler_visible(__sighandler_t handler);

#endif
