/* Detection of Java processes. The agent's thread; needs /proc. */
#ifndef ASYNCPROF_JAVA_H
#define ASYNCPROF_JAVA_H

#include <stdbool.h>

#include "core/wake.h"

/* True when the Java VM is loaded, or its launcher, which is about to load it. */
bool java_is_loaded(void);

/* Wait until the Java VM has started, at most ten seconds: with some settings (-XX:-UsePerfData) nothing shows it. WAKE
 * may be woken for another reason; then it still is on return. Returns false when the agent must end. */
bool java_wait_until_started(struct wake *wake);

#endif
