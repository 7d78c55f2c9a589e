/* Death by SIGTERM, SIGINT or SIGHUP with the default action, with a flush before. */
#ifndef PRELOAD_INTERPOSE_FATAL_H
#define PRELOAD_INTERPOSE_FATAL_H

#include <signal.h>

/* Put our handler wherever one of the three has its default action, now and whenever the
 * program goes back to that. The program is shown SIG_DFL. After exit_arm(), from any thread. */
void fatal_install(void);

/* Give the three their default action back where they have our handler, for good. A child of vfork
 * does it for itself alone. Async-signal-safe. */
void fatal_remove(void);

/* HANDLER as the program is to see it. Async-signal-safe. */
__sighandler_t fatal_shown(__sighandler_t handler);

/* Die of SIGNO, which has its default action from now on. For its handler. Async-signal-safe. */
void fatal_die(int signo);

/* The program has gone back to SIG_DFL on SIGNO. Async-signal-safe. */
void fatal_changed(int signo);

#endif
