/* What the kernel does on a signal, asked and set past the C library: from a thread that it does not know,
 * and as it is, whoever else stands in front of sigaction(3). Async-signal-safe. */
#ifndef CORE_DISPOSITION_H
#define CORE_DISPOSITION_H

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "core/kernel.h"

/* The kernel's struct sigaction, of both processors. */
struct disposition {
	void *handler; /* or SIG_DFL, SIG_IGN */
	unsigned long flags;
	void *restorer; /* disposition_set() has its own */
	uint64_t mask;  /* a bit, SIGNO - 1, for each signal that is blocked meanwhile */
};

static inline uint64_t disposition_bit(int signo)
{
	return UINT64_C(1) << (signo - 1);
}

/* A mask of all but the C library's own, which come before the first for programs. */
#define DISPOSITION_ALL (~(UINT64_C(3) << 31))

/* Returns 0 or -errno. */
static inline int disposition_get(int signo, struct disposition *now)
{
	return (int)kernel_call4(SYS_rt_sigaction, signo, 0, (long)now, sizeof(now->mask));
}

/* Set WANTED, and tell what was there in *BEFORE, which may be NULL. Returns 0 or -errno. */
int disposition_set(int signo, const struct disposition *wanted, struct disposition *before);

#endif
