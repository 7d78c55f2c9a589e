/* Stacks of a chunk's wall-clock samples by thread and time. */
#ifndef PROFILE_JFR_THREAD_STACKS_H
#define PROFILE_JFR_THREAD_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/jfr/jfr_read.h"

struct thread_stack; /* of one sample */

/* Zeroed: none. */
struct thread_stacks {
	struct thread_stack *rows;
	uint32_t count, capacity;
};

/* Read the samples of CHUNK. A sample that counts several times does so at intervals of INTERVAL_TICKS from its time on.
 * Returns 0, or -ENOMEM. Release with thread_stacks_free(). */
int thread_stacks_read(struct thread_stacks *stacks, struct jfr_chunk *chunk,
		       int64_t interval_ticks);
void thread_stacks_free(struct thread_stacks *stacks);

/* Returns the key of the stack of thread TID at TICKS, at most WITHIN_TICKS from its sample; 0: unknown. */
uint64_t thread_stacks_find(const struct thread_stacks *stacks, uint32_t tid, int64_t ticks,
			    int64_t within_ticks);

#endif
