/* Runs the engines' handlers, and notes which system calls only samples interrupted or cut short. */
#include "preload/interpose/sample.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/code.h"
#include "core/agent/async_profiler.h"
#include "core/disposition.h"
#include "core/system.h"
#include "core/timer/dropped_signals.h"
#include "engine/reading/memory_reader.h"
#include "engine/reading/thread_data.h"
#include "engine/sample/sampler.h"
#include "preload/interpose/altstack.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/unseen_call.h"

#define SIGNALS 64

uint64_t sample_signals, sample_ever;
__sighandler_t sample_program_actions[SIGNALS + 1];

/* A call that is restarted after a sample, but not by an interposer: the thread is about to continue at FROM; TO is
 * after the call; SP is the stack pointer. */
static __thread struct {
	uintptr_t from, to, sp;
	bool by_kernel;
} restart;

/* Where the program's last handlers found a call that they had ended: several, because a handler may interrupt
 * another. An entry stays after that: the program expects EINTR there. */
#define ENDED 4

static __thread struct {
	uintptr_t pc, sp;
} ended[ENDED];

static __thread unsigned int next_ended;

static sample_handler sample_handlers[SIGNALS + 1];
static int all_flags[SIGNALS + 1]; /* flags that each was installed with */

static sample_handler forwarder;
static uint64_t held; /* a bit for each signal of sample_hold() */

static atomic_bool avoids_signal_stacks;

static uint64_t watched; /* a bit for each signal of sample_watch() */

/* Maximum bytes that the kernel transfers in one call. */
#define MOST_BYTES 0x7ffff000

/* True immediately after a system call that ended with EINTR, or that returned a count, which may be too small. If
 * the kernel runs a handler of the program first, the context is at the handler's first instruction, and the result
 * register has another value. */
static bool call_was_interrupted(const ucontext_t *context)
{
	uintptr_t pc = (uintptr_t)CONTEXT_PC(context);
	long result = (long)CONTEXT_RESULT(context);

	return (result == -EINTR || (result > 0 && result <= MOST_BYTES)) &&
	       memory_is_system_call(pc - ARCH_SYSTEM_CALL_BYTES);
}

bool sample_has_ended_call(const ucontext_t *context)
{
	return (long)CONTEXT_RESULT(context) == -EINTR &&
	       memory_is_system_call((uintptr_t)CONTEXT_PC(context) - ARCH_SYSTEM_CALL_BYTES);
}

/* True if SIGNO has a handler: an ignored signal does not interrupt, and is only pending because our handler blocks
 * it. */
static bool signal_has_handler(int signo)
{
	struct disposition now;

	return !disposition_get(signo, &now) && now.handler != (void *)SIG_DFL &&
	       now.handler != (void *)SIG_IGN;
}

/* True if a handler of the program runs as soon as ours returns. */
static bool program_handler_is_next(const ucontext_t *context)
{
	uint64_t blocked, pending = 0;

	memcpy(&blocked, &context->uc_sigmask, sizeof(blocked));
	if (kernel_call4(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0))
		return true;
	pending &= ~blocked & ~__atomic_load_n(&sample_signals, __ATOMIC_RELAXED);
	for (; pending; pending &= pending - 1)
		if (signal_has_handler(__builtin_ctzll(pending) + 1))
			return true;
	return false;
}

/* True for calls that wait, and that the kernel restarts only after handlers with SA_RESTART. It restarts other
 * calls after any handler. */
static bool call_is_restarted_wait(const ucontext_t *context)
{
	long operation = (long)CONTEXT_ARGUMENT2(context) & FUTEX_CMD_MASK;

	switch (CONTEXT_NUMBER(context)) {
	case SYS_futex:
		return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
#ifdef SYS_open
	case SYS_open:
#endif
	case SYS_openat:
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_flock:
	case SYS_fcntl:
	case SYS_ioctl:
	case SYS_getrandom:
	case SYS_mq_timedreceive:
	case SYS_mq_timedsend:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
		return true;
	}
	return false;
}

/* True if a handler of the program has run since the call at PC ended: the sample arrived at the end of that
 * handler. */
static bool program_ended_call(uintptr_t pc, uintptr_t sp)
{
	for (size_t i = 0; i < ENDED; i++)
		if (ended[i].pc == pc && ended[i].sp == sp)
			return true;
	return false;
}

/* Note whether the call is restarted: by the kernel, which set the pc to BEFORE, or by the engine's handler. */
static void note_restart(const ucontext_t *context, uintptr_t before, bool interrupted)
{
	uintptr_t pc = (uintptr_t)CONTEXT_PC(context), sp = (uintptr_t)CONTEXT_SP(context);

	if (pc == before && pc == restart.from && sp == restart.sp && restart.to != pc &&
	    !restart.by_kernel)
		return; /* the previous sample set it back, and is returning */
	restart.from = pc;
	restart.sp = sp;
	restart.by_kernel = pc == before;
	restart.to = pc; /* none */
	if (!restart.by_kernel && interrupted)
		restart.to = before;
	else if (restart.by_kernel && call_is_restarted_wait(context) && memory_is_system_call(pc))
		restart.to = pc + ARCH_SYSTEM_CALL_BYTES;
}

/* Faults that an engine's handler may cause, and handles. (Not SIGABRT: watchdogs send it, and abort(3) unblocks it.) */
static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };

/* All signals are blocked, so that no handler of the program interrupts ours unnoticed. */
static uint64_t blocked_signals(void)
{
	uint64_t blocked = DISPOSITION_ALL;

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		blocked &= ~disposition_bit(faults[i]);
	return blocked;
}

/* Return the address of the mask of the interrupted call, if PLACE shows that it is the wait; else 0. The last argument may
 * be a structure, with the mask's address at its start. */
static uintptr_t call_mask(const ucontext_t *context, uintptr_t place)
{
	uintptr_t structure = (uintptr_t)CONTEXT_ARGUMENT6(context), mask;

	if ((uintptr_t)CONTEXT_ARGUMENT4(context) == place ||
	    (uintptr_t)CONTEXT_ARGUMENT5(context) == place)
		return place;
	if (ARCH_ARGUMENT_REMAINS ? (uintptr_t)CONTEXT_ARGUMENT1(context) == place
				  : CONTEXT_NUMBER(context) == SYS_rt_sigsuspend)
		return place;
	if (!memory_copy(&mask, structure, sizeof(mask)))
		return 0;
	return mask == place || structure == place ? mask : 0;
}

/* If a wait with a mask was interrupted, its signals stay blocked. (A wait that siglongjmp(3) has left is no more in the
 * registers.) */
static void call_keep_mask(ucontext_t *context)
{
	uintptr_t place = (uintptr_t)masked_wait.place;
	uint64_t mask, blocked;

	if (!place || masked_wait.handled != program_handled ||
	    (long)CONTEXT_RESULT(context) != -EINTR ||
	    !memory_copy(&mask, call_mask(context, place), sizeof(mask)))
		return;
	memcpy(&blocked, &context->uc_sigmask, sizeof(blocked));
	mask &= blocked_signals() & ~blocked & ~__atomic_load_n(&sample_signals, __ATOMIC_RELAXED);
	masked_wait.added |= mask;
	blocked |= mask;
	memcpy(&context->uc_sigmask, &blocked, sizeof(blocked));
}

/* In a handler that has interrupted the wait itself, and not the beginning of another handler. */
static COLD void mask_restore_in(ucontext_t *context)
{
	uint64_t blocked;

	if ((long)CONTEXT_RESULT(context) != -EINTR ||
	    !call_mask(context, (uintptr_t)masked_wait.place))
		return;
	memcpy(&blocked, &context->uc_sigmask, sizeof(blocked));
	blocked &= ~masked_wait.added;
	memcpy(&context->uc_sigmask, &blocked, sizeof(blocked));
}

/* After the engine's handler: the kernel has ended the call at PC, or cut it short. async-profiler sets back some
 * calls, whatever else arrived. */
static void call_continue(ucontext_t *context, uintptr_t pc, int signo)
{
	uintptr_t sp = (uintptr_t)CONTEXT_SP(context);
	bool by_program;

	call_keep_mask(context);
	by_program = program_handler_is_next(context);
	if (!by_program && (uintptr_t)CONTEXT_PC(context) == pc && unseen_call_continue(context))
		return;
	if (by_program || program_ended_call(pc, sp))
		CONTEXT_PC(context) = (__typeof__(CONTEXT_PC(context)))pc;
	else if ((uintptr_t)CONTEXT_PC(context) != pc)
		return;
	if (by_program)
		return;
	/* The interposers check themselves whether a handler of the program has run. */
	sample_note.count++;
	sample_note.sp = sp;
	sample_note.signo = signo;
}

static void sample_take(int signo, siginfo_t *info, ucontext_t *uc)
{
	sample_handler handler = __atomic_load_n(&sample_handlers[signo], __ATOMIC_ACQUIRE);
	int saved = errno;
	bool interrupted;
	uintptr_t pc;

	unseen_call_leave(uc);
	pc = (uintptr_t)CONTEXT_PC(uc);
	interrupted = call_was_interrupted(uc);
	if (restart_is_timer(info))
		; /* its only purpose is to interrupt the call */
	else if (handler && async_profiler_contains((const void *)handler))
		async_profiler_handle_signal(signo, info, uc);
	else if (handler)
		handler(signo, info, uc);
	if (interrupted)
		call_continue(uc, pc, signo);
	note_restart(uc, pc, interrupted);
	unseen_call_resume(uc);
	errno = saved;
}

/* (A call that the signal interrupts is not continued in such a thread: that needs its data.) */
static void on_sample(int signo, siginfo_t *info, void *context)
{
	if (__builtin_expect(thread_data_is_own(context), 1)) {
		sample_take(signo, info, context);
		return;
	}
	async_profiler_refuse_signal(info);
	sampler_refuse(info);
}
static COLD bool wants_restart(int signo)
{
	struct disposition now;

	return disposition_get(signo, &now) || now.flags & SA_RESTART;
}

static void restart_end_call(int signo, ucontext_t *context)
{
	uintptr_t pc = (uintptr_t)CONTEXT_PC(context);

	if (pc - restart.from >= restart.to - restart.from ||
	    restart.sp != (uintptr_t)CONTEXT_SP(context))
		return;
	if (restart.by_kernel && wants_restart(signo))
		return;
	CONTEXT_PC(context) = (__typeof__(CONTEXT_PC(context)))restart.to;
	CONTEXT_RESULT(context) = (__typeof__(CONTEXT_RESULT(context)))-EINTR;
	arch_mark_call(context);
	restart.to = restart.from;
}

static void call_note_ended(uintptr_t pc, uintptr_t sp)
{
	if (program_ended_call(pc, sp))
		return;
	ended[next_ended % ENDED].pc = pc;
	ended[next_ended % ENDED].sp = sp;
	next_ended++;
}

void sample_program_handler(int signo, ucontext_t *context)
{
	if (__builtin_expect(masked_wait.added != 0, 0))
		mask_restore_in(context);
	restart_end_call(signo, context);
	if ((long)CONTEXT_RESULT(context) == -EINTR)
		call_note_ended((uintptr_t)CONTEXT_PC(context), (uintptr_t)CONTEXT_SP(context));
}

static bool signal_is_watched(int signo)
{
	return __atomic_load_n(&watched, __ATOMIC_RELAXED) >> (signo - 1) & 1;
}

void sample_reserve(int signo)
{
	__atomic_fetch_or(&sample_ever, 1ULL << (signo - 1), __ATOMIC_RELAXED);
	__atomic_fetch_or(&sample_signals, 1ULL << (signo - 1), __ATOMIC_RELAXED);
}

void sample_release(int signo)
{
	const struct interpose_hooks *hooks = hooks_get();

	restart_exclude_signal(signo);
	__atomic_fetch_and(&sample_signals, ~(1ULL << (signo - 1)), __ATOMIC_RELAXED);
	if (hooks)
		hooks->signal_claimed(signo);
	sample_hold(signo);
}

bool sample_is_handled(int signo)
{
	sample_handler handler = __atomic_load_n(&sample_handlers[signo], __ATOMIC_ACQUIRE);

	return handler && handler != forwarder;
}

void sample_restore(int signo)
{
	sample_handler handler = NULL;

	if (exit_is_vfork_child()) /* all that would change is the parent's */
		return;
	if (signo > 0 && signo <= SIGNALS && !signal_is_watched(signo))
		handler = __atomic_load_n(&sample_handlers[signo], __ATOMIC_ACQUIRE);
	if (handler)
		sample_install(signo, handler, all_flags[signo]);
}

bool sample_is_fault(int signo)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (faults[i] == signo)
			return true;
	return false;
}

/* FLAGS with SA_ONSTACK, or without it after sample_avoid_signal_stacks(). */
static int handler_flags(int flags)
{
	return atomic_load(&avoids_signal_stacks) ? flags & ~SA_ONSTACK : flags | SA_ONSTACK;
}

static int sample_install_handler(int signo, int flags)
{
	struct disposition wanted = { .handler = (void *)on_sample, .mask = blocked_signals() };
	int now = handler_flags(flags | SA_SIGINFO | SA_RESTART), err;

	do {
		wanted.flags = (unsigned)now;
		err = disposition_set(signo, &wanted, NULL);
		now = handler_flags(now);
	} while (!err && wanted.flags != (unsigned)now);
	return err;
}

static void sample_note_handler(int signo, sample_handler handler, int flags)
{
	all_flags[signo] = flags;
	__atomic_store_n(&sample_handlers[signo], handler, __ATOMIC_RELEASE);
	restart_include_signal(signo);
	sample_reserve(signo);
}

int sample_install(int signo, sample_handler handler, int flags)
{
	sample_note_handler(signo, handler, flags | SA_SIGINFO | SA_RESTART);
	return sample_install_handler(signo, flags);
}

void sample_forward_by(sample_handler handler)
{
	forwarder = handler;
}

void sample_hold(int signo)
{
	uint64_t bit = 1ULL << (signo - 1);
	sample_handler none = NULL;
	struct disposition now;

	/* (A child of vfork(2) has its own actions, and this memory is its parent's.) */
	if (!forwarder || !exit_is_armed() ||
	    __atomic_fetch_or(&held, bit, __ATOMIC_RELAXED) & bit || disposition_get(signo, &now) ||
	    now.handler != (void *)SIG_DFL)
		return;
	/* An engine may install its handler now. */
	if (__atomic_compare_exchange_n(&sample_handlers[signo], &none, forwarder, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		sample_install_handler(signo, 0);
}

bool sample_is_held(int signo, const void *handler)
{
	return handler == (const void *)on_sample &&
	       __atomic_load_n(&sample_handlers[signo], __ATOMIC_ACQUIRE) == forwarder;
}

/* ---- Removal ----
 *
 * A signal whose handler is removed ends the process. No more signals are sent, but one may be pending, in a thread
 * that blocks it or has no processor. Ignoring the signal for a moment drops all of these. And one may be leaving
 * the queue: for a timer's signal the kernel releases its lock after it takes the signal and before it reads the action
 * (with interrupts disabled). So the handler stays until each processor has done something else. */

/* MEMBARRIER_CMD_SHARED of older headers: wait for all processors. */
#define MEMBARRIER_ALL 1

/* Wait instead of that call, if it fails, or if a filter may end the process for it. */
#define ON_ITS_WAY_NS 100000000u

static _Atomic int removed; /* signal of the last sample_remove() */

static void wait_for_processors(void)
{
	if (kernel_call6(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) ||
	    kernel_call4(SYS_membarrier, MEMBARRIER_ALL, 0, 0, 0))
		system_sleep(ON_ITS_WAY_NS);
}

/* Replace THERE by WANTED. False if the program was faster: its action stays. */
static bool action_replace(int signo, const struct disposition *wanted, const void *there)
{
	struct disposition before;

	if (disposition_set(signo, wanted, &before))
		return false;
	if (before.handler == there)
		return true;
	disposition_set(signo, &before, NULL);
	return false;
}

void sample_avoid_signal_stacks(void)
{
	struct disposition now;

	atomic_store(&avoids_signal_stacks, true);
	for (int signo = 1; signo <= SIGNALS; signo++) {
		if (!__atomic_load_n(&sample_handlers[signo], __ATOMIC_SEQ_CST) ||
		    disposition_get(signo, &now) || now.handler != (void *)on_sample)
			continue;
		now.flags &= ~(unsigned long)SA_ONSTACK;
		action_replace(signo, &now, (void *)on_sample);
	}
}

/* Ignore SIGNO, whose action is OURS, for a moment. */
static bool sample_drop_pending(int signo, const struct disposition *ours)
{
	static const struct disposition ignored = { .handler = (void *)SIG_IGN };
	bool is_done;

	dropped_signals_begin();
	is_done = action_replace(signo, &ignored, ours->handler) &&
		  action_replace(signo, ours, (void *)SIG_IGN);
	dropped_signals_end();
	return is_done;
}

int sample_remove(int signo)
{
	struct disposition ours, wanted = { 0 };
	int err = disposition_get(signo, &ours);

	if (err)
		return err;
	atomic_store(&removed, signo);
	if (!restart_exclude_signal(signo))
		return -EBUSY;
	if (ours.handler != (void *)on_sample || !sample_drop_pending(signo, &ours))
		return -EBUSY;
	wait_for_processors();
	if (__atomic_load_n(&held, __ATOMIC_RELAXED) >> (signo - 1) & 1) {
		__atomic_store_n(&sample_handlers[signo], forwarder, __ATOMIC_SEQ_CST);
		return 0;
	}
	wanted.handler = (void *)__atomic_load_n(&sample_program_actions[signo], __ATOMIC_RELAXED);
	if (!action_replace(signo, &wanted, ours.handler))
		return -EBUSY;
	__atomic_store_n(&sample_handlers[signo], NULL, __ATOMIC_SEQ_CST);
	return 0;
}

/* The kernel copies signal actions before it copies memory. */
void sample_after_fork(void)
{
	static const struct disposition by_default = { .handler = (void *)SIG_DFL };
	struct disposition now;
	int signo = atomic_load(&removed);

	restart_after_fork();
	if (signo && sample_program_actions[signo] != SIG_IGN && !disposition_get(signo, &now) &&
	    now.handler == (void *)SIG_IGN)
		disposition_set(signo, &by_default, NULL);
}

int sample_watch(int signo, sample_handler handler)
{
	__atomic_fetch_or(&watched, 1ULL << (signo - 1), __ATOMIC_RELAXED);
	__atomic_store_n(&sample_handlers[signo], handler, __ATOMIC_RELEASE);
	return sample_install_handler(signo, 0);
}

bool sample_is_watched_handler(const void *handler)
{
	return handler == (const void *)on_sample && __atomic_load_n(&watched, __ATOMIC_RELAXED);
}

sample_handler sample_handler_of(int signo)
{
	return __atomic_load_n(&sample_handlers[signo], __ATOMIC_SEQ_CST);
}

void sample_wrap(int signo, struct sigaction *action)
{
	uint64_t blocked = blocked_signals();
	sample_handler handler = action->sa_sigaction;

	action->sa_sigaction = on_sample;
	action->sa_flags = handler_flags(action->sa_flags);
	memcpy(&action->sa_mask, &blocked, sizeof(blocked));
	sample_note_handler(signo, handler, action->sa_flags);
}

void sample_unwrap(int signo, struct sigaction *action)
{
	if (sample_is_held(signo, (const void *)action->sa_sigaction))
		action->sa_handler = SIG_DFL;
	else if (action->sa_sigaction == on_sample)
		action->sa_sigaction = sample_handlers[signo];
}
