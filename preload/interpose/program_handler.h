/* Entries of the program's signal handlers: a signal of the program ends a call that a sample has interrupted.
 *
 * After a sample the interrupted call is restarted: by an interposer, by the kernel (SA_RESTART), or because
 * async-profiler has set back the pc. A signal of the program may arrive before the thread is in the call again. Its
 * handler runs, and the call would then wait as if there had been no signal. So each handler of the program begins
 * in an entry. The entry counts the handler for the interposers. If the context is before such a call, the
 * entry moves it after the call, with EINTR. It then jumps to the handler: no frame of the agent is on the stack.
 *
 * Each handler of the program has an entry permanently. So the kernel's pointer alone identifies the handler, in any
 * thread and child, and in any order of changes. Handlers that the program installs without the C library have no
 * entry, nor have handlers of faults, which no call waits for. */
#ifndef PRELOAD_INTERPOSE_PROGRAM_HANDLER_H
#define PRELOAD_INTERPOSE_PROGRAM_HANDLER_H

#include <signal.h>
#include <stdbool.h>

/* Return the address to install for the program's HANDLER of SIGNO: its entry; HANDLER itself if it is not a
 * function or no entry is free. Async-signal-safe. */
__sighandler_t program_handler_entry(int signo, __sighandler_t handler);

/* The program installs a handler for SIGNO. IS_RESET: the kernel restores the default action before the handler runs
 * (SA_RESETHAND). Async-signal-safe. */
void program_handler_note_reset(int signo, bool is_reset);

/* Return HANDLER, which may be an entry, as the program sees it. Async-signal-safe. */
__sighandler_t program_handler_visible(__sighandler_t handler);

#endif
