/* State of a thread, and the cause of its wait. */
#ifndef ENGINE_WAIT_WAIT_H
#define ENGINE_WAIT_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/jfr/jfr_wait_kinds.h"

/* A zeroed wait is unknown. */
struct wait {
	uint8_t state;       /* enum wait_state */
	uint8_t cause;       /* enum wait_cause; WAIT_NO_CAUSE unless waiting */
	bool has_timeout;    /* of an event loop's wait; see wait_cause() */
	uint8_t end;         /* of that wait: enum ready_wait_end */
	bool is_futex;       /* the stack may change the cause: wait_set_cause_by_stack() */
	long number;         /* of the system call; -1: none, or not known */
	uintptr_t sp, pc;    /* after the return of that call; 0: not known */
	uintptr_t first;     /* its first argument; of the thread if it is not known */
	uintptr_t lock;      /* address of the futex; 0: none */
	pid_t owner;         /* of the lock; 0: unknown */
	uint8_t owner_kinds; /* forms of the lock that are possible: 1 << enum wait_owner_kind */
	bool is_handed_over; /* a reader waits for a writer that has the lock, but has not run since */
	char *object;        /* malloc'd; NULL: none */
};

/* Which data of the process a wait may contain. */
enum wait_detail {
	WAIT_ALL,   /* with paths of files and addresses of peers */
	WAIT_KINDS, /* without them */
	WAIT_OFF,   /* nothing is read */
};

/* The cause of WAIT. An event loop waits for its timer, and not for events, if its timeout has ended the wait. If the
 * end is not known, because no interposer restarts the wait, a timeout counts as such an end. */
enum wait_cause wait_cause(const struct wait *wait);

/* True if both wait in one place, as far as known: in a call from the same frame for the same object. A restarted call may
 * have another number, and another timeout. */
bool wait_is_same_place(const struct wait *wait, const struct wait *other);

/* Free what WAIT owns, and make it unknown. */
void wait_clear(struct wait *wait);

/* Move FROM to TO, which is cleared first; FROM is then unknown. */
void wait_move(struct wait *to, struct wait *from);

#endif
