/* Signal dispositions by direct system calls, without the C library and without interposed versions of sigaction(3).
 * For threads that no C library knows. Async-signal-safe. */
#ifndef CORE_DISPOSITION_H
#define CORE_DISPOSITION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "core/kernel.h"

/* The kernel's struct sigaction on both processors. */
struct disposition {
	void *handler; /* or SIG_DFL, SIG_IGN */
	unsigned long flags;
	void *restorer; /* disposition_set() sets it */
	uint64_t mask;  /* bit SIGNO - 1 for each signal that is blocked during the handler */
};

static inline uint64_t disposition_bit(int signo)
{
	return UINT64_C(1) << (signo - 1);
}

/* Mask of all signals except the C library's own two, which precede SIGRTMIN. */
#define DISPOSITION_ALL (~(UINT64_C(3) << 31))

/* Get the disposition of SIGNO. Returns 0 or -errno. */
static inline int disposition_get(int signo, struct disposition *now)
{
	return (int)kernel_call4(SYS_rt_sigaction, signo, 0, (long)now, sizeof(now->mask));
}

/* True when FLAGS and MASK, of the program's action for SIGSEGV, are those of .NET. Its handler leaves the signal stack:
 * exceptions are raised on the interrupted stack. It needs its frame on the signal stack later, and a signal with SA_ONSTACK
 * would overwrite that. .NET interrupts its threads by a real-time signal without SA_ONSTACK, and the handler's mask contains
 * that one: the first, which is another in musl. (Other runtimes block all signals.) */
static inline bool disposition_leaves_signal_stack(unsigned long flags, uint64_t mask)
{
	return flags & SA_ONSTACK && mask & (disposition_bit(34) | disposition_bit(35)) &&
	       !(mask & disposition_bit(63));
}

/* Set the disposition of SIGNO to WANTED, and store the old one in *BEFORE, which may be NULL. Returns 0 or -errno. */
int disposition_set(int signo, const struct disposition *wanted, struct disposition *before);

#endif
