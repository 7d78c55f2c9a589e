/* Functions that switch the calling thread, or a new thread, to another stack. For the host's side. */
#ifndef ARCH_STACKS_H
#define ARCH_STACKS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* Run RUN, which never returns, in a new thread of this process. No C library knows of this thread. Its stack ends
 * at STACK_HIGH. It has the caller's signal mask. FLAGS are those of clone(2), with CLONE_PARENT_SETTID and
 * CLONE_CHILD_CLEARTID.
 *
 * *ID is the thread's id from its start. When the thread has ended, the kernel sets *ID to 0 and wakes that futex.
 * Returns 0 or -errno. */
int arch_thread_start(long flags, void (*run)(void), void *stack_high, _Atomic pid_t *id);

/* Run a program in the calling thread: jump to ENTRY with STACK as its initial stack. */
_Noreturn void arch_thread_enter(uintptr_t entry, const uintptr_t *stack);

/* Set the thread pointer and jump to FUNCTION, which never returns. */
_Noreturn void arch_thread_continue(uintptr_t thread_pointer, void (*function)(void));

/* Call HANDLER on the stack whose pointer is SP. */
void arch_call_on(uintptr_t sp, void (*handler)(int signo, siginfo_t *info, void *context),
		  int signo, siginfo_t *info, void *context);

#endif
