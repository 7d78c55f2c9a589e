/* Guess of what a thread waits for, by the innermost functions of its stack. For samples whose
 * recording does not say it, as async-profiler's. */
#ifndef PROFILE_AGGREGATE_WAIT_GUESS_H
#define PROFILE_AGGREGATE_WAIT_GUESS_H

#include <stdbool.h>

#include "profile/aggregate/wait.h"

/* The innermost functions that are considered. */
#define WAIT_GUESS_FRAMES 12

/* A zeroed guess is empty. */
struct wait_guess {
	enum wait_cause cause;
	const char *call; /* name of the call if the cause does not say it, else NULL */
	unsigned rank;    /* a guess of a higher rank is more exact; 0: none */
	const char
		*function; /* beginning of the function's name, as its library has it; NULL: none */
};

/* Improve GUESS by the function NAME of LIBRARY, with IS_KERNEL of the kernel. Call it from the
 * innermost function on. Only functions of the C library, the kernel and Go's runtime count,
 * CPython's lock of the interpreter, and the Java VM's monitors, locks and sleeps. */
void wait_guess_add(struct wait_guess *guess, const char *name, const char *library,
		    bool is_kernel);

/* A look at the thread has found *CAUSE, IS_FUTEX by a futex call, at about the time of the stack. Returns whether both may
 * be one wait; *CAUSE is then the more exact one. */
bool wait_guess_refine(const struct wait_guess *guess, uint32_t *cause, bool is_futex);

#endif
