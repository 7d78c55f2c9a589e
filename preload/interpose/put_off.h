/* Signals that end the process, and come in the midst of a fork(3). */
#ifndef PRELOAD_INTERPOSE_PUT_OFF_H
#define PRELOAD_INTERPOSE_PUT_OFF_H

#include <signal.h>
#include <stdbool.h>

/* For the handler of such a signal, of which INFO tells. True where somebody else has sent it, or a clock, to a thread that
 * is in fork(3): it comes again behind that, and nothing is to be done now. Async-signal-safe. */
bool async_profiler_defer_signal(const siginfo_t *info);

#endif
