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

/* Get the arguments of the system call that CONTEXT was interrupted in. Async-signal-safe. */
void arch_call_arguments(const ucontext_t *context, uintptr_t arguments[6]);

/* Copies memory of this process. False if it cannot be read. */
typedef bool arch_copy(void *data, uintptr_t address, size_t size);

/* Find the number of the system call that has just ended before CONTEXT. The result no longer has it, so follow the code
 * back to the instruction that sets it: in this function and in its callers, as far as they are called directly. Returns -1
 * if the number is not certain. COPY reads memory. Async-signal-safe.
 *
 * An indirect jump to an instruction between that one and the call would not be noticed, nor a jump from a distance of more
 * than 4 KiB. */
long arch_call_number(const ucontext_t *context, arch_copy *copy);

/* True when the thread has executed no instruction since the kernel ended the system call before CONTEXT; false after
 * arch_mark_call(). Async-signal-safe. */
bool arch_call_has_just_ended(const ucontext_t *context);

/* Let CONTEXT, which is after a system call, make the call NUMBER again. */
void arch_make_call(ucontext_t *context, long number);

/* Mark CONTEXT, which is after a system call, by a register that such a call changes. */
void arch_mark_call(ucontext_t *context);

#endif
