/* Direct system calls. They affect the calling thread only where the C library's function affects the whole process.
 * They bypass functions that other preloads wrap. */
#ifndef CORE_KERNEL_H
#define CORE_KERNEL_H

#include "arch/arch.h"

static inline long kernel_call4(long number, long a, long b, long c, long d)
{
	return kernel_call6(number, a, b, c, d, 0, 0);
}

#endif
