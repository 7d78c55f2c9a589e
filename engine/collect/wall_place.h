/* Recognizes, without a signal, that a thread waits again in the stack of its last sample.
 *
 * A return address is a word on the stack. Two stacks of a thread are the same if the thread is in the same system call
 * with the same stack pointer, and no word that was a return address has changed. Agent thread only. */
#ifndef ENGINE_COLLECT_WALL_PLACE_H
#define ENGINE_COLLECT_WALL_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/wait/wait.h"

/* Stacks with more frames or bytes are not recognized. */
#define WALL_PLACE_FRAMES_MAX 64
#define WALL_PLACE_BYTES_MAX  16384

/* Copies of stacks that exist at the same time. */
#define WALL_PLACE_COPIES_MAX 16

struct wall_place_word {
	uint32_t index; /* from the stack pointer on */
	uintptr_t value;
};

/* Starts zeroed: no place. */
struct wall_place {
	long number;
	uintptr_t sp, pc;              /* of the system call; pc 0: none */
	uintptr_t *copy;               /* malloc'd: the stack, until it is learned */
	struct wall_place_word *words; /* malloc'd: the return addresses; NULL: not learned */
	uint32_t bytes;                /* of the stack, or of its part with words */
	uint32_t count;                /* of words */
};

/* Set PLACE to that of a thread in the call of WAIT, just before a signal is sent to it. */
void wall_place_see(struct wall_place *place, const struct wait *wait);

/* Move SEEN to PLACE, with the stack PCS that the signal's handler found. Nothing is learned if the return address of a
 * frame was not in memory: of an interpreter's frame, or if the thread was elsewhere. SEEN is then none. */
void wall_place_learn(struct wall_place *place, struct wall_place *seen, const uintptr_t *pcs,
		      size_t depth);

/* True if a thread in the call of WAIT waits in the stack that was learned. */
bool wall_place_is_same(const struct wall_place *place, const struct wait *wait);

/* Free what PLACE owns, and make it none. */
void wall_place_clear(struct wall_place *place);

#endif
