/* Removal of async-profiler's allocation hooks from stacks. Its samples of native memory begin with
 * the hook that took them, and not with the program's function that allocates. */
#ifndef PROFILE_AGGREGATE_HOOK_FRAMES_H
#define PROFILE_AGGREGATE_HOOK_FRAMES_H

#include "profile/aggregate/resolve_state.h"

/* Remove the innermost frame of RESOLVE's stack if it is such a hook and has a caller. */
void hook_frames_remove(struct resolve *resolve);

#endif
