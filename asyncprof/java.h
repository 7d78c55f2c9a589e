/* Detection of Java processes. The agent's thread; needs /proc. */
#ifndef ASYNCPROF_JAVA_H
#define ASYNCPROF_JAVA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/wake.h"

/* True when the Java VM is loaded, or its launcher, which is about to load it. */
bool java_is_loaded(void);

/* Wait until the Java VM has started, at most ten seconds: with some settings (-XX:-UsePerfData) nothing shows it. WAKE
 * may be woken for another reason; then it still is on return. Sets *HAS_STARTED. Returns false when the agent must end, or
 * the program has set *IS_EXITING: its VM may have ended already. */
bool java_wait_until_started(struct wake *wake, const atomic_bool *is_exiting, bool *has_started);

/* A sleep of a thread. Zeroed for java_blocks(). */
struct java_sleep {
	uint64_t number, since_ns;
};

/* True if thread TID has slept since the last calls, at least JAVA_BLOCKED_NS. A Java VM that exits blocks each thread
 * that enters it, for ever. */
#define JAVA_BLOCKED_NS 100000000u
bool java_blocks(pid_t tid, struct java_sleep *sleep);

#endif
