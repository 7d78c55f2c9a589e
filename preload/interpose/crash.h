/* Handlers of signals whose default action dumps core. They report the crash and wait for the last report; then the
 * process ends by the same signal. */
#ifndef PRELOAD_INTERPOSE_CRASH_H
#define PRELOAD_INTERPOSE_CRASH_H

#include <signal.h>
#include <stdbool.h>

/* True when SIGNO is one of these signals. All functions are async-signal-safe. */
bool crash_is_signal(int signo);

/* Install our handler for SIGNO if it has its default action. In the first process of a namespace only for faults:
 * the kernel ignores other signals there. */
void crash_install(int signo);

/* True when HANDLER is that handler. */
bool crash_is_handler(const void *handler);

/* Report the crash, once for each process, and wait until the last report is written. Other threads that crash wait
 * for the first one. Also for handlers of others for such a signal. */
void crash_report(int signo, const siginfo_t *info, const void *context);

#endif
