/* Interpreters in this process: finds them and keeps their descriptions current. Agent thread only. */
#ifndef ENGINE_RUNTIME_RUNTIMES_H
#define ENGINE_RUNTIME_RUNTIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Set whether to search for interpreters; the default is true. */
void runtimes_wanted(bool wanted);

/* Search for interpreters in new modules. Called after modules were loaded or unloaded, and once at the start. */
void runtimes_scan(void);

/* Update the found interpreters. Call it from time to time, and soon while runtimes_one_begins() is
 * true: an interpreter is then still starting. */
void runtimes_visit(void);

/* Whether threads that wait on FUTEX wait for an interpreter's global lock. Then *HOLDER is the
 * thread that holds it; 0: none, or not known. */
bool runtimes_lock_at(uintptr_t futex, pid_t *holder);
bool runtimes_one_begins(void);

#endif
