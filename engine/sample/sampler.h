/* Handler of the sampling signal: the interrupted thread records its own stack. */
#ifndef ENGINE_SAMPLE_SAMPLER_H
#define ENGINE_SAMPLE_SAMPLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef void sampler_handler(int signo, siginfo_t *info, void *context);

/* Installs a handler with SA_SIGINFO, SA_RESTART and FLAGS, during which every blockable signal is
 * blocked. Hides from the program that the handler interrupts system calls. Returns 0 or -errno.
 * May run in a thread that the C library does not know. */
typedef int sampler_installer(int signo, sampler_handler *handler, int flags);

/* Gives SIGNO back to the program after all timers of it are deleted. First drops pending instances
 * of it in all threads. Returns 0 or -errno, also if the program has taken it meanwhile. */
typedef int sampler_remover(int signo);

/* True if HANDLER, the kernel's action of SIGNO, does not keep SIGNO from being used. */
typedef bool sampler_free_check(int signo, const void *handler);

/* Set these functions. FORWARD receives signals that are not the sampler's, and late samples, if the
 * program had no handler. Before sampler_install(). */
void sampler_install_by(sampler_installer *install, sampler_remover *remove,
			sampler_handler *forward, sampler_free_check *is_free);

/* Choose SIGNO if it is free, also if it is not a signal for programs. Before sampler_install(). */
void sampler_prefer(int signo);

/* The signal that sampler_install() would choose now: a real-time signal, counted from the top,
 * because programs count from the bottom. */
int sampler_choose(void);

/* The next free signal below SIGNO, for an engine that samples with other signals; 0 if none is
 * free. */
int sampler_choose_below(int signo);

/* Choose the sampling signal and install its handler, if that is not done yet. Agent thread.
 * Returns the signal's number or -errno. */
int sampler_install(void);

/* Remove the handler after sampling has ended for good. First waits, with a bound, until no signal
 * is under way. The handler stays if that wait fails, or if the handler forwards to a handler of
 * the program. Agent thread. */
void sampler_remove(void);

/* Like sampler_remove(), when only the calling thread had timers of this signal and another engine
 * has its own timers. */
void sampler_remove_of_second(void);

/* The number of the sampling signal; 0 before sampler_install(). Async-signal-safe. */
int sampler_signal(void);

/* Without interposers: give up the sampling signal if the program has set another action for it since sampler_install(). The
 * program gets the signals of the timers until then. Logs it. Agent thread, twice a second. */
void sampler_check(void);

/* The program takes SIGNO for itself. If it is the sampling signal, stop sending it for good.
 * Async-signal-safe. */
void sampler_give_up(int signo);

/* Called by a thread that ends, instead of threads_ended(). First records the due CPU samples for
 * which no signal came: a thread may be shorter than the resolution of the kernel's CPU timers. */
void sampler_thread_ended(void);

/* Call CALL once, from the signal's handler, in the calling thread, AFTER_NS (at least 1) from now.
 * Does nothing if the thread has ended; a program that is executed before does not notice. Installs
 * the handler. Returns 0 or -errno. Async-signal-safe, as are the next three functions. */
int sampler_call_later(uint64_t after_ns, void (*call)(void));

/* True while such a call is pending in this process. */
bool sampler_call_pends(void);

/* Cancel the pending call. Returns the nanoseconds that were left, at least 1; 0 if no call is
 * pending in this process. */
uint64_t sampler_call_off(void);

/* The program takes the signal before the first sample: sampler_install() then chooses another. */
void sampler_choose_again(void);

/* Call CALL from the signal's handler in every other thread of the program, as soon as that thread
 * runs again. Reaches only threads that have a slot (threads.h) and do not block the signal; does
 * nothing where the program has taken the signal. Returns how many threads were signalled.
 * Async-signal-safe. One caller at a time, and always the same CALL. */
uint32_t sampler_call_in_others(void (*call)(void));

struct thread;

/* Request a SAMPLE_LOCK_OWNER of OWNER, in whose lock the word at LOCK_WORD has its id. It is not taken if the word has
 * another one then. The argument is that address. In a thread of the program. */
void sampler_interrupt_owner(struct thread *owner, uintptr_t lock_word);

/* In a forked child: stop sampling and cancel the pending call. Returns true if a call was pending
 * in the parent. */
bool sampler_after_fork(void);

/* Record the crash of the calling thread with its stack, while the rings are open. Signal SIGNO
 * came with CODE and ADDRESS and interrupted CONTEXT. Async-signal-safe. */
void sampler_crashed(int signo, int code, uintptr_t address, const void *context);

/* Record samples, or drop them in the handler. */
void sampler_enable(bool on);

#endif
