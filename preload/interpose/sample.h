/* Sampling signals. The handlers of both engines run inside one handler of the agent, which detects whether the
 * sample alone interrupted a system call.
 *
 * The kernel ends some calls with EINTR after every handler, with or without SA_RESTART (signal(7) lists them).
 * Other calls that move many bytes return early with a part of them. A program without handlers need not expect
 * that. If the sample alone was the cause, our handler leaves a note for the interposer that made the call. The
 * interposer continues with the remaining time or bytes.
 *
 * A signal of the program still ends the call at any time: see restart.h and program_handler.h. One case remains. If
 * the program installs a handler by its own system call, the agent does not know it. Such a handler is not noticed if
 * it runs in the microsecond or two between a sample and the restarted call. */
#ifndef PRELOAD_INTERPOSE_SAMPLE_H
#define PRELOAD_INTERPOSE_SAMPLE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "preload/interpose/altstack.h"
#include "preload/interpose/sample_note.h"

/* From now on the program can neither block SIGNO nor wait for it. For an engine that chooses its signals early: a
 * thread that blocked them before is never sampled. Any thread. */
void sample_reserve(int signo);

/* Install HANDLER for SIGNO and reserve it. Flags: SA_SIGINFO, SA_RESTART, usually SA_ONSTACK, and FLAGS. All signals are
 * blocked except those of faults. The handler's errno is not visible. Returns 0 or -errno. Any thread, also one that
 * the C library does not know. */
int sample_install(int signo, sample_handler handler, int flags);

/* From now on no handler of a sample runs on an alternate signal stack, not even one that is installed already. For a program
 * whose handlers leave such a stack and read it later: the next handler with SA_ONSTACK starts at its top again. Such a
 * program's stacks must have space for a signal. A thread of the program; async-signal-safe. */
void sample_avoid_signal_stacks(void);

/* Remove the handler after the last sender of SIGNO has stopped. Pending signals are dropped. SIGNO gets the action
 * that the program last asked for, and stays reserved. Returns 0, -EBUSY when the program has installed its own
 * handler, or another -errno. In a thread as above. */
int sample_remove(int signo);

/* Reset the state in a forked child, whose parent may have been in sample_remove(). */
void sample_after_fork(void);

/* Install HANDLER for SIGNO, which takes no samples. The program does not notice the signal: it ends no call. The
 * program may block SIGNO, wait for it and handle it. Returns 0 or -errno. Async-signal-safe. */
int sample_watch(int signo, sample_handler handler);

/* True when HANDLER, an action of a signal that takes no samples, was installed by sample_watch(). */
bool sample_is_watched_handler(const void *handler);

/* The program ignores SIGNO, a sampling signal, blocks it or waits for it. The kernel does neither in threads that are
 * sampled. So while no engine handles SIGNO, the handler of sample_forward_by() does: the default action would end the
 * process. Async-signal-safe. */
void sample_hold(int signo);
void sample_forward_by(sample_handler handler);

/* True when HANDLER, the kernel's action of SIGNO, is there for that reason alone: SIGNO is free. Async-signal-safe. */
bool sample_is_held(int signo, const void *handler);

/* The functions below are for the interposers and for asyncprof/. */

/* The action that the program last asked for, for each sampling signal: SIG_DFL or SIG_IGN. */
extern __sighandler_t sample_program_actions[64 + 1];

/* Bit SIGNO - 1 is set for each sampling signal; in the second word also for earlier ones. */
extern uint64_t sample_signals, sample_ever;

static inline bool sample_is_signal(int signo)
{
	uint64_t signals = __atomic_load_n(&sample_signals, __ATOMIC_RELAXED);

	return signo > 0 && signo <= 64 && signals >> (signo - 1) & 1;
}

/* True when CONTEXT is immediately after a system call that ended with EINTR. Async-signal-safe. */
bool sample_has_ended_call(const ucontext_t *context);

/* Return the engine's handler for SIGNO, or NULL. Async-signal-safe. */
sample_handler sample_handler_of(int signo);

/* Put our handler before that of ACTION, which an engine's library installs for SIGNO. The same as sample_install(). */
void sample_wrap(int signo, struct sigaction *action);

/* Undo sample_wrap() in ACTION, which was read from the kernel. */
void sample_unwrap(int signo, struct sigaction *action);

/* True for signals that an engine handles because its own handlers may cause them. */
bool sample_is_fault(int signo);

/* The program uses SIGNO itself: give it to the program, and stop the engine that samples by it. */
void sample_release(int signo);

/* True when an engine's handler was ever installed for SIGNO; otherwise it is reserved at most. */
bool sample_is_handled(int signo);

/* The program has set SIG_DFL for SIGNO again. If SIGNO was released, take it back: a pending sample must not end
 * the program. */
void sample_restore(int signo);

/* At the beginning of a handler of the program for SIGNO. The thread's mask is again as the program knows it: see struct
 * masked_wait. If CONTEXT is before a call that a sample interrupted, and that the kernel or async-profiler restarts, the
 * call ends with EINTR, as the program's signal alone would end it. A call that ended in this way is not restarted when a
 * sample arrives as the handler returns. */
void sample_program_handler(int signo, ucontext_t *context);

#endif
