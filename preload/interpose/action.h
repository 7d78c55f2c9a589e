/* What async-profiler has for its own faults, while it takes no samples. */
#ifndef PRELOAD_INTERPOSE_ACTION_H
#define PRELOAD_INTERPOSE_ACTION_H

#include <stdbool.h>

/* Nothing sends its signals any more: take its handlers away, and with FAULTS those of its own faults, so that what the
 * program has asked for is in force. The former it installs again when it starts. In a thread of its own. */
void action_engine_leaves(bool faults);

/* It is about to start: have the latter there again, where the program has the same as then. In such a thread. */
void action_engine_returns(void);

#endif
