/* Death by a signal with the default action, a crash among them, with a flush before. */
#ifndef PRELOAD_INTERPOSE_FATAL_H
#define PRELOAD_INTERPOSE_FATAL_H

#include <signal.h>
#include <stdbool.h>

/* Put our handlers wherever one that would end the process has its default action, and after fatal_include_crashes() one of
 * those that dump core (crash.h), now and whenever the program goes back to that. The program is shown
 * SIG_DFL. After exit_arm(), from any thread. */
void fatal_install(void);
void fatal_include_crashes(void);

/* Give them their default action back where they have our handlers, for good. A child of vfork
 * does it for itself alone. Async-signal-safe. */
void fatal_remove(void);

/* The same of those that dump core alone. */
void fatal_remove_crashes(void);

/* HANDLER as the program is to see it. Async-signal-safe. */
__sighandler_t fatal_visible_handler(__sighandler_t handler);

/* The program's handler of SIGNO is about to run. Async-signal-safe. */
void fatal_note_handled(int signo);

/* Die of SIGNO, which has its default action from now on. For its handler. Async-signal-safe. */
void fatal_raise_default(int signo);

/* The program has gone back to SIG_DFL on SIGNO. Async-signal-safe. */
void fatal_reinstall(int signo);

#endif
