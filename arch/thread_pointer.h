/* Where the calling thread's variables are counted from. */
#ifndef ARCH_THREAD_POINTER_H
#define ARCH_THREAD_POINTER_H

#include <stdint.h>

/* The C library has the thread's own address there. */
static inline uintptr_t thread_pointer(void)
{
	uintptr_t pointer;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#else
#error "no thread pointer for this processor"
#endif
	return pointer;
}

/* What a module's block and its variables have to do with that, where the program itself has them: OFFSET of
 * the variable in the program's TLS segment, which takes SIZE bytes and is aligned to ALIGN. */
static inline intptr_t thread_pointer_offset(uint64_t offset, uint64_t size, uint64_t align)
{
	uint64_t mask = (align ? align : 1) - 1;

#if defined(__x86_64__)
	return (intptr_t)(offset - ((size + mask) & ~mask));
#else
	(void)size;
	return (intptr_t)(offset + ((16 + mask) & ~mask));
#endif
}

#endif
