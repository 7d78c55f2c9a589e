/* Sampling signals: the handlers of both engines run inside one of ours, which finds out
 * whether the sample, and nothing else, interrupted a system call.
 *
 * The kernel ends some calls with EINTR whenever a handler has run, SA_RESTART or not
 * (signal(7) lists them), and lets others that move many bytes end with a part of them. A program
 * that has no handlers need not expect that. When a sample alone was the cause, our handler leaves
 * a note for the interposer that made the call, and that goes on with the time or the bytes that
 * are left.
 *
 * A signal of the program's ends the call all the same, at whatever moment it comes: see restart.h for
 * the calls that we make again, and program_handler.h. What remains: a handler that the program has
 * installed past the C library, by a system call in code of its own, goes unnoticed when it runs
 * between a sample's and the call made again, a microsecond or two. */
#ifndef PRELOAD_INTERPOSE_SAMPLE_H
#define PRELOAD_INTERPOSE_SAMPLE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "preload/interpose/altstack.h"
#include "preload/interpose/sample_note.h"

/* The program can no longer block SIGNO or wait for it. For an engine that knows its signals
 * early: a thread that blocked them before is never sampled. Any thread. */
void sample_reserve(int signo);

/* The same of one that is there for an engine that chooses by itself: it is shown that these are free, and while there
 * are two that the program has not taken since, that no others are. */
void signal_handlers_offer_signal(int signo);

/* Install HANDLER for SIGNO, which is reserved by this: SA_SIGINFO, SA_RESTART, SA_ONSTACK and FLAGS,
 * and with all signals blocked but those that a fault raises. errno is preserved around it.
 * Returns 0 or -errno. In any thread, also in one that the C library does not know. */
int sample_install(int signo, sample_handler handler, int flags);

/* Take it away, behind the last that sends SIGNO: what pends is dropped, and SIGNO does what the program last asked for,
 * while it stays reserved. Returns 0, -EBUSY where the program has a handler of its own there by now, or another -errno.
 * In a thread as above. */
int sample_remove(int signo);

/* The same of all that an engine's library has installed handlers for. Returns whether none is left. */
bool sample_remove_engine(void);

/* None of those runs. */
bool sample_engine_is_idle(void);

/* In a forked child, whose parent may have been at that. */
void sample_after_fork(void);

/* Have HANDLER run in a signal that takes no samples, and that the program is not to notice: it ends no call
 * of the program's either. The program may block SIGNO, wait for it and handle it as ever. Returns 0 or
 * -errno. Async-signal-safe. */
int sample_watch(int signo, sample_handler handler);

/* Whether HANDLER, a disposition of a signal that takes no samples, is there by sample_watch(). */
bool sample_is_watched_handler(const void *handler);

/* The library that INSIDE points into is an engine: handlers in it that it installs with
 * SA_SIGINFO become sampling handlers by themselves, and it is shown the truth about
 * dispositions. Called after dlopen, before the engine starts. */
void signal_handlers_set_library(const void *inside);

/* The rest is for the interposers. */

/* What the program last asked for on a sampling signal: SIG_DFL or SIG_IGN. */
extern __sighandler_t sample_program_actions[64 + 1];

/* A bit, SIGNO - 1, for each sampling signal. */
extern uint64_t sample_signals;

static inline bool sample_is_signal(int signo)
{
	uint64_t signals = __atomic_load_n(&sample_signals, __ATOMIC_RELAXED);

	return signo > 0 && signo <= 64 && signals >> (signo - 1) & 1;
}

/* Whether the engine is to find SIGNO free. */
bool sample_is_offered(int signo);

/* True when P points into the engine's library. */
bool async_profiler_contains(const void *p);

/* ACTION, which the engine installs, as it goes to the kernel: itself, or in CHANGED with our
 * handler in front of its own, but where it handles faults; SENT is called for a signal that is none of the
 * engine's, in the handler. All of its handlers run on the stack
 * that a thread has for signals: the Go runtime's others have no room for them, and after an
 * overflow none has. */
const struct sigaction *sample_wrap(int signo, const struct sigaction *action,
				    struct sigaction *changed, void (*sent)(int signo));

/* ACTION, which came from the kernel, as the engine installed it. */
void sample_unwrap(int signo, struct sigaction *action);

/* True for the signals that an engine handles because its own handlers may cause them. */
bool sample_is_fault(int signo);

/* SIGNO is the program's from now on. */
void sample_release(int signo);

/* Whether a handler of an engine's was ever installed for SIGNO; else it is reserved at most. */
bool sample_is_handled(int signo);

/* The program has gone back to SIG_DFL on SIGNO. If that was released before, take it again: a
 * sample that was under way must not kill the program. */
void sample_restore(int signo);

/* For the first instructions of a handler of the program for SIGNO: if CONTEXT stands before a call
 * that a sample interrupted, and that will be made again by the kernel or async-profiler, that
 * ends with EINTR, where the program's signal would have ended it. A call that has ended so is not made
 * again when a sample comes as the handler returns. */
void sample_program_handler(int signo, ucontext_t *context);

#endif
