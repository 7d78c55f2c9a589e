/* Whether this is a process of Java, and how far that is. The agent's thread; needs /proc. */
#ifndef ASYNCPROF_JAVA_H
#define ASYNCPROF_JAVA_H

#include <stdbool.h>

#include "core/wake.h"

/* Java's machine is loaded, or its launcher, which is about to load it. */
bool java_is_loaded(void);

/* Wait until the machine is up: for ten seconds at most, as some settings (-XX:-UsePerfData) have no sign of
 * it. WAKE may have been woken for something else, and then still is. False where the agent is to end. */
bool java_wait_until_started(struct wake *wake);

#endif
