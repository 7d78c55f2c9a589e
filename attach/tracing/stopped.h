/* A thread of another process that ptrace(2) has stopped, and system calls that it makes for the tracer.
 *
 * The launcher uses this too: it needs no C library. Results are -errno for an error. */
#ifndef ATTACH_TRACING_STOPPED_H
#define ATTACH_TRACING_STOPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "arch/remote.h"

#define STOPPED_PAGE ARCH_PAGE_MAX

struct stopped {
	pid_t tid;
	struct remote_registers registers; /* to continue with */
	uint64_t mask;                     /* its signal mask, after stopped_get() */
	uintptr_t call;                    /* address of a system call instruction */
};

static inline void stopped_zero(void *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((volatile char *)memory)[i] = 0;
}

static inline uintptr_t stopped_page_up(uintptr_t address)
{
	return (address + STOPPED_PAGE - 1) & ~(uintptr_t)(STOPPED_PAGE - 1);
}

/* ptrace(2). */
long stopped_trace(int request, const struct stopped *thread, long address, long data);

/* Continue by REQUEST until the trap of EVENT; 0: of that request. Signals have their effect; without EVENT, SIGSYS has none,
 * and the result is false. A program that is stopped by a signal waits for SIGCONT before an event; a call of REQUEST is made
 * nevertheless, and the thread stops when it is no longer traced. The program is gone if the result is false. Before
 * PTRACE_EVENT_EXEC the thread runs already. */
bool stopped_run(const struct stopped *thread, int request, int event);

/* Copy BYTES at ADDRESS of the program to DATA, or from it. */
bool stopped_read(const struct stopped *thread, uintptr_t address, void *data, size_t bytes);
bool stopped_write(const struct stopped *thread, uintptr_t address, const void *data, size_t bytes);

/* Find a system call instruction in the VDSO, for stopped_call(). */
bool stopped_find_call(struct stopped *thread, uintptr_t vdso);

/* Make the system call NUMBER. Afterwards the thread has other registers, until stopped_restore(). */
long stopped_call(const struct stopped *thread, long number, const long arguments[6]);

void stopped_unmap(const struct stopped *thread, uintptr_t start, size_t bytes);

/* From now on all steps fail with -ETIMEDOUT, also the one that THREAD is in, if it has not begun its call. For a handler of
 * this process. */
void stopped_interrupt(const struct stopped *thread);

/* Execute the system call instruction at PC with REGISTERS, which have its number. -EPERM: a seccomp filter, or Syscall User
 * Dispatch, has answered with SIGSYS. The thread does not get that signal. */
long stopped_step(const struct stopped *thread, struct remote_registers *registers, uintptr_t pc);

/* True for a result between -1 and -4095. */
bool stopped_call_failed(long result);

/* Get the registers and the signal mask. */
bool stopped_get(struct stopped *thread);

/* Block all signals, except SIGSYS as the thread has it; set the mask back. */
bool stopped_block_signals(const struct stopped *thread);
bool stopped_unblock_signals(const struct stopped *thread);

/* True if the kernel passes the thread's system calls back to the program (Syscall User Dispatch). False before Linux 6.4,
 * where that is not known. */
bool stopped_dispatches(const struct stopped *thread);

/* Set registers and mask back. */
void stopped_restore(const struct stopped *thread);

#endif
