/* Resolver of waits: what the thread of a wall-clock sample did. */
#ifndef PROFILE_AGGREGATE_RESOLVE_WAIT_H
#define PROFILE_AGGREGATE_RESOLVE_WAIT_H

#include "profile/aggregate/resolve_state.h"

/* Keys of a sample's constants. */
struct stored_wait {
	uint64_t wait;        /* asprof.types.Wait; 0: not recorded */
	uint64_t owner_stack; /* stack of the lock's owner; 0: none */
	uint64_t state;       /* jdk.types.ThreadState */
	uint64_t stack;       /* stack of the sample */
};

/* Returns the profile's ID of STORED; 0 if nothing is known. If the wait was not recorded, it is
 * derived from the thread state and the stack. It has the parts that the query stores. */
uint32_t resolve_wait(struct resolve *resolve, const struct stored_wait *stored);

#endif
