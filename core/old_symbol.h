/* Functions that were in other libraries than libc.so.6 before glibc 2.34: by the versions that they had there,
 * and still have, so that the preload is loaded with both. A program need not have those libraries: then such
 * a function is NULL. */
#ifndef CORE_OLD_SYMBOL_H
#define CORE_OLD_SYMBOL_H

#include <features.h>

/* Of a source that calls NAME, which x86-64 has had since VERSION. Other processors came with 2.17. */
#if defined(__GLIBC__) && defined(__x86_64__)
#define OLD_SYMBOL(name, version)                               \
	__asm__(".symver " #name ", " #name "@GLIBC_" version); \
	extern __typeof__(name) name __attribute__((weak));
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OLD_SYMBOL(name, version)                           \
	__asm__(".symver " #name ", " #name "@GLIBC_2.17"); \
	extern __typeof__(name) name __attribute__((weak));
#else
#define OLD_SYMBOL(name, version)
#endif

#endif
