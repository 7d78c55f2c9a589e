/* Events for stalls of event loops, when async-profiler is the engine. */
#ifndef ASYNCPROF_STALL_EVENTS_H
#define ASYNCPROF_STALL_EVENTS_H

#include "engine/sample/loop_iterations.h"

extern const struct stall_output stall_events_output;

/* Reset the state in a forked child: its engine has other event keys. */
void stall_events_reset_in_child(void);

#endif
