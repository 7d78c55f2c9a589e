/* The calling thread as the program's C library knows it. Async-signal-safe.
 *
 * In an attached program the thread pointer is exchanged while a handler runs (attach/thread_area.h). */
#ifndef ENGINE_READING_PROGRAM_THREAD_H
#define ENGINE_READING_PROGRAM_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include "arch/arch.h"

#ifdef ASPROF_ATTACHED

/* Set by the handler. */
extern __thread uintptr_t attached_thread_pointer;

static inline uintptr_t program_thread_pointer(void)
{
	return attached_thread_pointer;
}

/* On x86-64, of glibc and of musl. */
static inline uintptr_t program_thread_self(void)
{
	return attached_thread_pointer;
}

#else

static inline uintptr_t program_thread_pointer(void)
{
	return thread_pointer();
}

/* pthread_self(3). */
static inline uintptr_t program_thread_self(void)
{
	return (uintptr_t)pthread_self();
}

#endif
#endif
