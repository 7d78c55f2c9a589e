/* Children that come by syscall(2). */
#ifndef PRELOAD_INTERPOSE_CLONE_H
#define PRELOAD_INTERPOSE_CLONE_H

#include <stdbool.h>
#include <sys/syscall.h>

/* Kernels of old headers have it under that number too. */
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

/* Whether system call NUMBER may return in a child. (vfork(2) cannot be made by a function.) */
static inline bool clone_may_return_in_child(long number)
{
#if defined(SYS_fork)
	if (number == SYS_fork)
		return true;
#endif
	return number == SYS_clone || number == SYS_clone3;
}

/* After it, where it returned RESULT and had these arguments: a child with memory of its own tells its
 * hook. */
void clone_after_call(long number, long a, long b, long result);

#endif
