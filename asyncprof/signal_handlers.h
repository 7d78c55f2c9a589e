/* async-profiler's signal handlers. They run inside the agent's handler (preload/interpose/sample.h). */
#ifndef ASYNCPROF_SIGNAL_HANDLERS_H
#define ASYNCPROF_SIGNAL_HANDLERS_H

#include <stdbool.h>

/* Set the library: INSIDE points into it. Handlers in it that it installs with SA_SIGINFO become sampling handlers, and
 * it sees the real signal actions. After dlopen(3), before the engine starts. */
void signal_handlers_set_library(const void *inside);

/* Reserve SIGNO for the library. The library sees only offered signals as free, until the program has taken all but
 * one. */
void signal_handlers_offer_signal(int signo);

/* Remove the library's sampling handlers, so that the program's actions are in force. WITH_FAULTS: also its fault handlers.
 * Call it when nothing sends the library's signals any more. The library installs its sampling handlers again at its
 * next start. On the thread `asprof-engine`. */
void signal_handlers_remove(bool with_faults);

/* The library is about to start: restore its fault handlers where the program's action has not changed since. On the
 * thread `asprof-engine`. */
void signal_handlers_restore_faults(void);

/* The library has returned from a call, so it has noted the actions that it replaced. On the thread
 * `asprof-engine`. */
void signal_handlers_library_returned(void);

/* Reset the state in a forked child. */
void signal_handlers_reset_in_child(void);

#endif
