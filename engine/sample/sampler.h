/* The signal in which a thread samples itself. */
#ifndef ENGINE_SAMPLE_SAMPLER_H
#define ENGINE_SAMPLE_SAMPLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef void sampler_handler(int signo, siginfo_t *info, void *context);

/* Installs a handler with SA_SIGINFO, SA_RESTART and FLAGS, during which no signal that can wait
 * is delivered, and hides from the program that it interrupts system calls. 0 or -errno. It may be
 * called in a thread that the C library does not know. */
typedef int sampler_installer(int signo, sampler_handler *handler, int flags);

/* Gives SIGNO back to the program, which no timer sends any more: what pends of it, in whatever thread, is dropped first.
 * 0 or -errno, as where the program has taken it meanwhile. */
typedef int sampler_remover(int signo);

/* Who installs and removes; before sampler_install(). */
void sampler_install_by(sampler_installer *install, sampler_remover *remove);

/* The signal that would be chosen now: a real-time one, counted from the top, as programs that
 * use any count from the bottom. */
int sampler_choose(void);

/* The next one below SIGNO, for who samples by others; 0 where none is free. */
int sampler_choose_below(int signo);

/* Choose the sampling signal and install its handler, where that is not done. Agent thread. Returns its number or
 * -errno. */
int sampler_install(void);

/* Behind the end of the sampling, where it may not begin again: see that no signal is under way, and take the handler
 * away. It stays where that is not to be seen soon, and where it stands before one of the program's. Agent thread. */
void sampler_remove(void);

/* The same where only the calling thread has had timers send the signal, and another engine has timers of its own. */
void sampler_remove_beside(void);

/* Its number; 0 before sampler_install(). Async-signal-safe. */
int sampler_signal(void);

/* The program wants SIGNO for itself: when that is ours, stop sending it, for good.
 * Async-signal-safe. */
void sampler_give_up(int signo);

/* In a thread that ends, in place of threads_ended(): first take the samples of its CPU time that
 * are due and that no signal came for. A thread may be shorter than what the kernel's CPU timers
 * can tell. */
void sampler_thread_ended(void);

/* Have CALL called once, in the signal's handler, AFTER_NS (at least 1) from now, in the calling thread, if
 * it is there then; a program that is executed before does not notice. Installs the handler. Returns 0 or
 * -errno. Async-signal-safe, as are the next three. */
int sampler_call_later(uint64_t after_ns, void (*call)(void));

/* One is to come in this process. */
bool sampler_call_pends(void);

/* That call is not to be made any more. Returns how long it was until then, at least 1; 0 when there is none to
 * come in this process. */
uint64_t sampler_call_off(void);

/* The signal becomes the program's before it has taken a sample: sampler_install() chooses another. */
void sampler_choose_again(void);

/* Have CALL called in the signal's handler in each thread of the program but this one, as soon as it would run
 * again; in those alone that have a slot (threads.h), and where the signal is ours. Returns how many.
 * Async-signal-safe. One caller at a time, and always the same CALL. */
uint32_t sampler_call_in_others(void (*call)(void));

/* In a forked child: samples are dropped, and no call is to come. True when one was to come in the
 * parent. */
bool sampler_after_fork(void);

/* The calling thread has crashed by SIGNO, which came with CODE and ADDRESS and interrupted CONTEXT: tell of it,
 * with its stack, as far as anything is sampled. Async-signal-safe. */
void sampler_crashed(int signo, int code, uintptr_t address, const void *context);

/* Let samples through, or drop them in the handler. */
void sampler_enable(bool on);

#endif
