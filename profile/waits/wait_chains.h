/* Chains of waits: a thread waits for a lock, whose owner waits in turn. A chain that returns to
 * itself is a deadlock. */
#ifndef PROFILE_WAITS_WAIT_CHAINS_H
#define PROFILE_WAITS_WAIT_CHAINS_H

#include "profile/aggregate/profile.h"

/* True for kinds of samples whose waits may have an owner. */
static inline bool wait_metric_has_owners(uint32_t metric)
{
	return metric == METRIC_WALL || metric == METRIC_LOCK;
}

struct wait_chains {
	const struct profile *profile;
	struct intern keys; /* of waiting threads and their stacks */
	uint32_t *heaviest; /* by ID in keys: index + 1 of the heaviest sample */
	uint32_t *next;     /* by sample: index + 1 of the owner's own wait; 0: none is known */
	uint32_t *deadlock; /* by sample: number of the deadlock that it is a part of; 0: none */
	uint32_t deadlocks;
};

/* Samples with the same thread, stack and wait that are required of each part of a deadlock. */
#define WAIT_DEADLOCK_SAMPLES 3

/* Follow the waits of PROFILE, which was read with WAIT_PARTS_OWNER. An owner's own wait is a sample of
 * that thread with the stack that it had when the lock's waiter was sampled. Returns 0 or -ENOMEM;
 * release with wait_chains_free() in any case. */
int wait_chains_make(struct wait_chains *chains, const struct profile *profile);

/* Returns the first part of the deadlock NUMBER: the sample of the first thread, by
 * profile_compare_threads(). */
uint32_t wait_chains_first(const struct wait_chains *chains, uint32_t number);

void wait_chains_free(struct wait_chains *chains);

#endif
