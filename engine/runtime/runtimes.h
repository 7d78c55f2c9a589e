/* The interpreters in this process: looks for them, and names the frames that walks met of them. Agent
 * thread only. */
#ifndef ENGINE_RUNTIME_RUNTIMES_H
#define ENGINE_RUNTIME_RUNTIMES_H

#include <stdbool.h>

/* Whether to look for interpreters at all: so it is until told otherwise. */
void runtimes_wanted(bool wanted);

/* Modules came or went, or none was looked at yet: look for interpreters among them. */
void runtimes_scan(void);

/* Look after those that were found: now and then, and soon where one is only just beginning. */
void runtimes_visit(void);
bool runtimes_one_begins(void);

#endif
