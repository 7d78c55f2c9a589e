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
 * of it in all threads. Returns 0 or -errno; -EBUSY if the program has set its own handler since. */
typedef int sampler_remover(int signo);

/* True if HANDLER, the installed handler of SIGNO, only reserves SIGNO for the agent. Such a signal
 * counts as free. */
typedef bool sampler_free_check(int signo, const void *handler);

/* Set these functions. Signals that the sampler did not request, and signals of deleted timers, go to
 * the program's earlier handler, or to FORWARD if it had none. Before sampler_install(). */
void sampler_install_by(sampler_installer *install, sampler_remover *remove,
			sampler_handler *forward, sampler_free_check *is_free);

/* Choose SIGNO if it is free, even if it is outside the range that sampler_choose() searches. Before
 * sampler_install(). */
void sampler_prefer(int signo);

/* The signal that sampler_install() would choose now: the highest free real-time signal, because
 * programs use the lowest ones first. If none is free, the highest one: its handler then also gets
 * the program's signals, and forwards them. */
int sampler_choose(void);

/* The next free signal below SIGNO, for an engine that samples with other signals; 0 if none is
 * free. */
int sampler_choose_below(int signo);

/* Choose the sampling signal and install its handler, if that is not done yet. Agent thread, or a
 * program's thread in sampler_call_later(). Returns the signal's number or -errno. */
int sampler_install(void);

/* The same for an engine that starts: then sampler_enable(true). If the program takes the signal in between, choose
 * another. Agent thread. */
int sampler_install_enabled(void);

/* Remove the handler after sampling has ended for good. First waits, at most 500 ms, until no thread
 * can send the signal any more. The handler stays after a timeout, or if it forwards to a handler of
 * the program. Agent thread. */
void sampler_remove(void);

/* The same for the built-in engine next to another engine (builtin_engine_to_look()). The other
 * engine goes on with its timers: this call does not wait for them, and does not close their share
 * (core/signal_share.h). */
void sampler_remove_second(void);

/* The number of the sampling signal; 0 before sampler_install(). Async-signal-safe. */
int sampler_signal(void);

/* For a program without interposers: give up the sampling signal if the program has set another
 * action for it since sampler_install(). Until this check, the program's handler gets the timers'
 * signals. Logs it. Agent thread, twice a second. */
void sampler_check(void);

/* The program takes SIGNO for itself. If it is the sampling signal, stop sending it for good.
 * Async-signal-safe. */
void sampler_give_up(int signo);

/* Called by a thread that ends, instead of threads_ended(). First records the due CPU samples for
 * which no signal came: a thread may end before the kernel's CPU timers, which are coarse, expire. */
void sampler_thread_ended(void);

/* Run CALL once, from the signal's handler, in the calling thread, AFTER_NS (at least 1) from now. It
 * does not run if the thread ends, or the process executes another program, before that time. Only
 * one call may be pending. Installs the handler. Returns 0 or -errno. Async-signal-safe, as are
 * the next three functions. */
int sampler_call_later(uint64_t after_ns, void (*call)(void));

/* True while such a call is pending in this process. */
bool sampler_call_pends(void);

/* Cancel the pending call. Returns the nanoseconds that were left, at least 1; 0 if no call is
 * pending in this process. */
uint64_t sampler_cancel_call(void);

/* The program takes SIGNO, the sampling signal, and no engine runs: sampler_install() then chooses another. If an engine
 * has started to sample meanwhile, give the signal up instead. Async-signal-safe. */
void sampler_choose_again(int signo);

/* Run CALL from the signal's handler in every other thread of the program, as soon as that thread
 * runs again. Reaches only threads that have a slot (threads.h) and do not block the signal; does
 * nothing where the program has taken the signal. Returns how many threads were signalled.
 * Async-signal-safe. One caller at a time, and always the same CALL. */
uint32_t sampler_call_in_others(void (*call)(void));

struct thread;

/* Request a sample of OWNER, which owns a lock that the calling thread waits for. LOCK_WORD is the
 * address of the lock's word that has the owner's thread ID. OWNER's handler reads the word: if
 * it has another ID, it takes no sample. The sample is a SAMPLE_LOCK_OWNER with LOCK_WORD as args[0].
 * In a thread of the program. */
void sampler_interrupt_owner(struct thread *owner, uintptr_t lock_word);

/* The thread's thread-local data is not accessible now: note that the requested signal of INFO has arrived, and take no
 * sample. A delayed call is made later. In the signal's handler. */
void sampler_refuse(const siginfo_t *info);

/* In a forked child: stop sampling and cancel the pending call. Returns true if a call was pending
 * in the parent. */
bool sampler_after_fork(void);

/* Record the crash of the calling thread with its stack, while the rings are open. Signal SIGNO
 * came with CODE and ADDRESS and interrupted CONTEXT. Async-signal-safe. */
void sampler_crashed(int signo, int code, uintptr_t address, const void *context);

/* ON: the handler records samples. Otherwise it drops them. Agent thread. */
void sampler_enable(bool on);

#endif
