/* Stalls of event loops where async-profiler takes the samples. */
#ifndef ASYNCPROF_STALL_EVENTS_H
#define ASYNCPROF_STALL_EVENTS_H

#include "engine/sample/loop_iterations.h"

extern const struct stall_output stall_events_output;

/* In a forked child: its engine has other keys. */
void stall_events_reset_in_child(void);

#endif
