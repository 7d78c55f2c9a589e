/* Death by a signal that dumps core, with its default action: the crash is told, and the last report
 * written, before the process dies of it as it would have done. */
#ifndef PRELOAD_INTERPOSE_CRASH_H
#define PRELOAD_INTERPOSE_CRASH_H

#include <signal.h>
#include <stdbool.h>

/* Whether SIGNO is one of these. Async-signal-safe, as is the rest. */
bool crash_is_signal(int signo);

/* Put our handler there, if SIGNO has its default action. Nothing where the kernel would spare the process
 * but for a fault of its own, and SIGNO is raised by others only. */
void crash_install(int signo);

/* Whether HANDLER is that. */
bool crash_is_handler(const void *handler);

/* Tell of it, once in a process, and wait until the report is written; of threads that crash together the
 * others wait for the first. For the handler of whoever has the signal in our place. */
void crash_report(int signo, const siginfo_t *info, const void *context);

#endif
