/* Code of the attached host's side that depends on the processor. attach/ describes this side. */
#ifndef ARCH_ATTACHED_H
#define ARCH_ATTACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* Entry point of the attached code: the address of a system call instruction. The tracer makes clone(2) by it, in a
 * stopped thread. The new thread continues here and calls attach_begin(). */
void attach_entry(void);

/* Code that the program's first thread runs before the program: remote_set_hold() in arch/remote.h describes it. It follows
 * attach_entry(). */
void attach_hold(void);

/* Set the calling thread's thread pointer to POINTER and return the earlier one. Async-signal-safe. */
uintptr_t arch_exchange_thread_pointer(uintptr_t pointer);

/* Let CONTEXT, which is after a system call, make the call NUMBER again. */
void arch_make_call(ucontext_t *context, long number);

#endif
