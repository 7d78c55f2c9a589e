/* Removal of the preload's frames from stacks. The builtin engine removes them itself
 * (engine/collect/program_stack.h); async-profiler does not know the preload, so its stacks have
 * them. */
#ifndef PROFILE_AGGREGATE_PRELOAD_FRAMES_H
#define PROFILE_AGGREGATE_PRELOAD_FRAMES_H

#include "profile/aggregate/resolve_state.h"

/* Remove the preload's frames from RESOLVE's stack. If a wrapped call is the program's innermost
 * frame, it is kept as a frame of the C library: no other frame shows the call. A stack of preload
 * frames only, as of a profiler thread, is not changed. */
void preload_frames_remove(struct resolve *resolve);

#endif
