/* Weak references to functions that were not in libc.so.6 before glibc 2.34. They name the old symbol versions,
 * which newer glibc still has, so the preload loads with both. Such a function is NULL in a program without the old
 * library. */
#ifndef CORE_OLD_SYMBOL_H
#define CORE_OLD_SYMBOL_H

#include <features.h>

#include "arch/arch.h"

/* For a source that calls NAME. x86-64 has had it since VERSION. */
#if defined(__GLIBC__)
#define OLD_SYMBOL(name, version)                                                 \
	__asm__(".symver " #name ", " #name "@GLIBC_" ARCH_GLIBC_SINCE(version)); \
	extern __typeof__(name) name __attribute__((weak));
#else
#define OLD_SYMBOL(name, version)
#endif

#endif
