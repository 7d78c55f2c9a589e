/* Children that are created without fork(3): by clone(3), _Fork(3) or syscall(2). */
#ifndef PRELOAD_INTERPOSE_CLONE_H
#define PRELOAD_INTERPOSE_CLONE_H

#include <stdbool.h>
#include <sys/syscall.h>

/* Older headers lack it; the number is the same on all processors. */
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

/* True when system call NUMBER may return in a child. (vfork(2) is absent: a function that calls it cannot return in the
 * child.) */
static inline bool clone_may_return_in_child(long number)
{
#if defined(SYS_fork)
	if (number == SYS_fork)
		return true;
#endif
	return number == SYS_clone || number == SYS_clone3;
}

/* True when such a call, with these arguments, creates a child with a stack of its own. */
bool clone_has_stack(long number, long a, long b);

/* After such a call, with these arguments, returned RESULT. In a child with its own memory it calls the hook. */
void clone_after_call(long number, long a, long b, long result);

#endif
