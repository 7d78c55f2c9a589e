/* Selection of the frames that are shown, by category and, for stacks with both script functions
 * and native functions, by kind. */
#ifndef PROFILE_AGGREGATE_FRAME_SELECTION_H
#define PROFILE_AGGREGATE_FRAME_SELECTION_H

#include "profile/aggregate/resolve_state.h"

/* Remove from RESOLVE's stack, from frame FIRST on, the frames that its query excludes. A stack of
 * which no frame would remain is not changed. */
void frame_selection_apply(struct resolve *resolve, size_t first);

#endif
