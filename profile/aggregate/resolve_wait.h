/* Resolver of waits: what the thread of a wall-clock sample did. */
#ifndef PROFILE_AGGREGATE_RESOLVE_WAIT_H
#define PROFILE_AGGREGATE_RESOLVE_WAIT_H

#include "profile/aggregate/resolve_state.h"
#include "profile/jfr/jfr_read.h"

/* Keys of a sample's constants. */
struct stored_wait {
	uint64_t wait;        /* of resolve_wait_key(); 0: not recorded */
	uint64_t owner_stack; /* stack of the lock's owner; 0: none */
	uint64_t state;       /* jdk.types.ThreadState */
	uint64_t stack;       /* stack of the sample */
};

/* Use the states in LOOKS for samples of FROM without a wait. */
void resolve_use_looks(struct resolve *resolve, const struct wait_looks *looks,
		       const struct feed_chunk *from);

/* Returns how far from a sample a look may be: looks of another engine's recording are at the same interval as its
 * samples, which SETTINGS has. */
int64_t resolve_looks_within_ns(const struct settings *settings);

/* Read the stacks of all threads for resolve_owner_stack_key(), if looks are used. Samples are INTERVAL_NS apart. Returns 0,
 * or -ENOMEM. */
int resolve_read_stacks(struct resolve *resolve, int64_t interval_ns);

/* Returns a key of the wait of EVENT, a sample: the constant that it refers to, or the state that the agent found at that
 * time, within WITHIN_NS. */
uint64_t resolve_wait_key(struct resolve *resolve, const struct jfr_event *event,
			  int64_t within_ns);

/* Returns the key of the stack of the lock's owner at the time of EVENT, whose wait has KEY; 0: unknown. It is recorded, or
 * that of the owner's own sample at that time. */
uint64_t resolve_owner_stack_key(struct resolve *resolve, const struct jfr_event *event,
				 uint64_t key, int64_t within_ns);

/* Returns the profile's ID of STORED; 0 if nothing is known. If the wait was not recorded, it is
 * derived from the thread state and the stack. It has the parts that the query stores. */
uint32_t resolve_wait(struct resolve *resolve, const struct stored_wait *stored);

#endif
