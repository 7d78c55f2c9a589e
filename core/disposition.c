/* Signal dispositions by direct system calls. */
#include "core/disposition.h"

#include <stddef.h>

#include "arch/code.h"

int disposition_set(int signo, const struct disposition *wanted, struct disposition *before)
{
	struct disposition full = *wanted;

	full.restorer = NULL;
	arch_set_restorer(&full.flags, &full.restorer);
	return (int)kernel_call4(SYS_rt_sigaction, signo, (long)&full, (long)before,
				 sizeof(full.mask));
}
