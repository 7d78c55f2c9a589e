/* Handlers of signals whose default action ends the process. They wait for the last report first. */
#ifndef PRELOAD_INTERPOSE_FATAL_H
#define PRELOAD_INTERPOSE_FATAL_H

#include <signal.h>
#include <stdbool.h>

/* Install our handlers for all such signals that have their default action, now and when the program sets it again.
 * After fatal_include_crashes() also for signals that dump core (crash.h). The program sees SIG_DFL. After
 * exit_arm(), from any thread. */
void fatal_install(void);
void fatal_include_crashes(void);

/* Restore the default actions, permanently. A child of vfork(2) does it for itself only. Async-signal-safe. */
void fatal_remove(void);

/* In a forked child: the first process of a pid namespace keeps only the handlers that such a process gets. */
void fatal_after_fork(void);

/* Return HANDLER as the program sees it. Async-signal-safe. */
__sighandler_t fatal_visible_handler(__sighandler_t handler);

/* The program's handler of SIGNO is about to run. Async-signal-safe. */
void fatal_note_handled(int signo);

/* Set the default action of SIGNO and raise it. In its handler. Async-signal-safe. */
void fatal_raise_default(int signo);

/* End the process by SIGNO, whose default action this is, after the last report. In its handler. Async-signal-safe. */
void fatal_end_process(int signo);

/* The program has set SIG_DFL for SIGNO: install our handler again. Async-signal-safe. */
void fatal_reinstall(int signo);

#endif
