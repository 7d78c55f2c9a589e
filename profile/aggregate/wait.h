/* States of sampled threads, and what waiting threads wait for. The builtin engine records them in
 * wall-clock samples (asprof.types.Wait); for other samples wait_guess.h derives a part of them. */
#ifndef PROFILE_AGGREGATE_WAIT_H
#define PROFILE_AGGREGATE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/jfr/jfr_wait_kinds.h"
#include "profile/basics/intern.h"

/* Interned by its bytes, so it has no padding. */
struct wait {
	uint32_t state;       /* enum wait_state */
	uint32_t cause;       /* enum wait_cause */
	uint32_t call;        /* in names: system call; 0: unknown */
	uint32_t on;          /* in names: file, peer, lock or process; 0: unknown */
	uint32_t owner;       /* thread ID of the lock's owner; 0: unknown */
	uint32_t owner_stack; /* in stacks: the owner's stack at that time; 0: unknown */
	uint32_t is_derived;  /* guessed from the thread state and the innermost functions */
	uint32_t unused;
};

/* Parse LINES of "key=value" into WAIT. Unknown keys and values are ignored. */
void wait_parse(struct wait *wait, const char *lines, struct intern *names);

/* Whether WAIT is of one of STATES and CAUSES, masks; 0: any. */
static inline bool wait_matches(const struct wait *wait, uint32_t states, uint32_t causes)
{
	return (!states || states & 1u << wait->state) &&
	       (!causes || (wait->state == WAIT_WAITING && causes & 1u << wait->cause));
}

#endif
