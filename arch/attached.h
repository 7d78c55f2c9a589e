/* Code of the attached host's side that depends on the processor. attach/ describes this side. */
#ifndef ARCH_ATTACHED_H
#define ARCH_ATTACHED_H

#include <stdbool.h>
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

/* Bytes of code before the end of a system call instruction that arch_call_number() examines. */
#define ARCH_CALL_CODE_BYTES 7

/* Get the number of the system call whose instruction ends at the end of CODE, if the instruction before sets it; else -1. */
long arch_call_number(const uint8_t code[ARCH_CALL_CODE_BYTES]);

/* True when the thread has executed no instruction since the kernel ended the system call before CONTEXT; false after
 * arch_mark_call(). Async-signal-safe. */
bool arch_call_has_just_ended(const ucontext_t *context);

/* Let CONTEXT, which is after a system call, make the call NUMBER again. */
void arch_make_call(ucontext_t *context, long number);

/* Mark CONTEXT, which is after a system call, by a register that such a call changes. */
void arch_mark_call(ucontext_t *context);

#endif
