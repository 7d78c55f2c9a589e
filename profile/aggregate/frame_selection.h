/* Which frames of a stack are shown, where it has functions of the program's own language among native ones. */
#ifndef PROFILE_AGGREGATE_FRAME_SELECTION_H
#define PROFILE_AGGREGATE_FRAME_SELECTION_H

#include "profile/aggregate/resolve_state.h"

/* Leave out of RESOLVE's stack what its query does not want of it. One that has nothing of what is wanted
 * stays as it is. */
void frame_selection_apply(struct resolve *resolve);

#endif
