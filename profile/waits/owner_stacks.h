/* Stacks of the owners of locks. */
#ifndef PROFILE_WAITS_OWNER_STACKS_H
#define PROFILE_WAITS_OWNER_STACKS_H

#include "profile/aggregate/profile.h"

/* Stacks of one sample: at most that many owners follow. */
#define OWNER_STACKS_MAX 4

/* Append to the stack of each wait for a lock, inside its innermost frame, the frame "[lock NAME
 * held by THREAD]" and the owner's stack. If the owner waits for a lock itself, its owner follows.
 * The frame "[deadlock]" ends a chain that returns to itself. PROFILE was read with
 * WAIT_PARTS_OWNER. Returns 0 or -ENOMEM. */
int owner_stacks_append(struct profile *profile);

/* The agent takes a bounded number of owners' stacks per second. Move the weight of waits without the owner's stack to those of the same thread, stack, lock and
 * owner with one, in proportion to their weights, and remove the former. PROFILE was read with
 * WAIT_PARTS_OWNER; no sample can be added afterwards. Returns 0 or -ENOMEM. */
int owner_stacks_spread(struct profile *profile);

#endif
