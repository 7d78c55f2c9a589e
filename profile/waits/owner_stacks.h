/* Owners whose stack was not taken: the agent takes a bounded number of owners' stacks per
 * second. */
#ifndef PROFILE_WAITS_OWNER_STACKS_H
#define PROFILE_WAITS_OWNER_STACKS_H

#include "profile/aggregate/profile.h"

/* Move the weight of waits without the owner's stack to those of the same thread, stack, lock and
 * owner with one, in proportion to their weights. PROFILE was read with WAIT_PARTS_OWNER. Returns 0 or
 * -ENOMEM. */
int owner_stacks_spread(struct profile *profile);

#endif
