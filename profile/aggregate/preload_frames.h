/* Stacks as the program's authors know them: without the preload's frames. The builtin engine leaves them
 * out itself (engine/collect/program_stack.h); async-profiler, which knows nothing of a preload, has them. */
#ifndef PROFILE_AGGREGATE_PRELOAD_FRAMES_H
#define PROFILE_AGGREGATE_PRELOAD_FRAMES_H

#include "profile/aggregate/resolve_state.h"

/* Leave the preload's frames out of RESOLVE's stack. Where such a frame is the innermost of the program's, and
 * a call that the program made, it stays, as no other tells of it: by its name, as the C library's. A stack that
 * has no other frame, as that of a thread of the profiler's, stays as it is. */
void preload_frames_remove(struct resolve *resolve);

#endif
