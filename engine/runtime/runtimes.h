/* Interpreters in this process: finds them and keeps their descriptions current. Agent thread only. */
#ifndef ENGINE_RUNTIME_RUNTIMES_H
#define ENGINE_RUNTIME_RUNTIMES_H

#include <stdbool.h>

/* Set whether to search for interpreters; the default is true. */
void runtimes_wanted(bool wanted);

/* Search for interpreters in new modules. Called after modules were loaded or unloaded, and once at the start. */
void runtimes_scan(void);

/* Update the found interpreters. Call it from time to time, and soon while runtimes_one_begins() is
 * true: an interpreter is then still starting. */
void runtimes_visit(void);
bool runtimes_one_begins(void);

#endif
