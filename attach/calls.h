/* Continues system calls that a sample has interrupted, in a program without interposers. */
#ifndef ATTACH_CALLS_H
#define ATTACH_CALLS_H

#include <stdbool.h>
#include <ucontext.h>

struct thread;

/* True when CONTEXT is immediately after a system call that a sample may have ended with EINTR. Async-signal-safe. */
bool call_was_ended(const ucontext_t *context);

/* In the handler of SIGNO, with all signals blocked: continue the call that SIGNO has ended in CONTEXT, and store its
 * result there. SIGNO stays blocked meanwhile; other signals as the program has them. The result is again EINTR if
 * a handler of the program ran, or if the call cannot be continued. Then the next signal does not continue it either.
 * Async-signal-safe.
 *
 * A call is made again if its number is known: the code that makes the call shows it (arch_call_number()), or THREAD was
 * seen in the call (engine/sample/thread_call.h). The kernel continues nanosleep(2), poll(2) and futex(2) with their remaining time.
 *
 * One case remains: a sample that arrives while a handler of the program returns, in the microsecond of rt_sigreturn(2). It
 * looks as if it had ended the call itself, so a call with a known number is made again.
 *
 * While the attached code is removed (attach/tracing/running.c), a call with a known number is left to the program, which makes it
 * again. */
void call_continue(const struct thread *thread, ucontext_t *context, int signo);

#endif
