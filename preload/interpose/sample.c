/* Runs the engines' handlers, and notes which system calls they alone interrupted or cut short. */
#include "preload/interpose/sample.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "asyncprof/fd_calls.h"
#include "asyncprof/loader_gate.h"
#include "core/disposition.h"
#include "core/loaded_symbol.h"
#include "core/system.h"
#include "engine/reading/memory_reader.h"
#include "preload/interpose/altstack.h"
#include "preload/interpose/context.h"
#include "preload/interpose/real.h"
#include "preload/interpose/stream.h"

#define SIGNALS 64

uint64_t sample_signals;
__sighandler_t sample_program_actions[SIGNALS + 1];

/* A call that will be made again behind a sample, not by an interposer: the thread is about to go on
 * at FROM, TO is behind the call, and SP the stack pointer. */
static __thread struct {
	uintptr_t from, to, sp;
	bool by_kernel;
} restart;

/* Where the program's last handlers found a call that they had ended: a few, as a handler may have
 * interrupted another. A place stays after that: a program that has met EINTR there knows it. */
#define ENDED 4

static __thread struct {
	uintptr_t pc, sp;
} ended[ENDED];

static __thread unsigned int next_ended;

static sample_handler sample_handlers[SIGNALS + 1];
static int all_flags[SIGNALS + 1]; /* what each was installed with */

static uint64_t offered; /* a bit for each: signal_handlers_offer_signal() */
static uint64_t watched; /* a bit for each that takes no samples: sample_watch() */

/* The engine's library, as far as it is mapped; and whom to tell of what somebody else sends it. */
static struct {
	uintptr_t low, high;
	void (*sent)(int signo);
	_Atomic uint32_t at_work; /* so many of its handlers run */
} engine;

/* From here on real-time signals are hardly used by programs, which count them from the bottom. */
#define HIGH_REAL_TIME 50

#if defined(__x86_64__)
static const uint8_t system_call[] = { 0x0f, 0x05 }; /* syscall */
#elif defined(__aarch64__)
static const uint8_t system_call[] = { 0x01, 0x00, 0x00, 0xd4 }; /* svc #0 */
#endif

#define SYSCALL_LENGTH sizeof(system_call)

/* So many samples come of one signal beside the first: a thread that has blocked it owes thousands. (A virtual
 * machine that others keep waiting may have no tick for 50 ms.) */
#define LOOP_ITERATIONS_MAX 99

/* The kernel moves no more than this in one call. */
#define MOST_BYTES 0x7ffff000

/* Code that runs need not be readable: a JIT compiler may map its own for execution only. */
static bool is_syscall(uintptr_t code)
{
	uint8_t bytes[SYSCALL_LENGTH];

	return memory_copy(bytes, code, SYSCALL_LENGTH) &&
	       !memcmp(bytes, system_call, SYSCALL_LENGTH);
}

/* True right behind a system call that ended with EINTR, or that counts what it did, which may be
 * less than it was to do. When the kernel has a handler of the program run first, this is that
 * handler's first instruction, and the result register holds something else. */
static bool call_was_interrupted(const ucontext_t *context)
{
	uintptr_t pc = (uintptr_t)CONTEXT_PC(context);
	long result = (long)CONTEXT_RESULT(context);

	return (result == -EINTR || (result > 0 && result <= MOST_BYTES)) &&
	       is_syscall(pc - SYSCALL_LENGTH);
}

/* True for a signal that would run a handler: one that is ignored does not interrupt, and
 * pends only because our handler blocks it. */
static bool signal_has_handler(int signo)
{
	struct disposition now;

	return !disposition_get(signo, &now) && now.handler != (void *)SIG_DFL &&
	       now.handler != (void *)SIG_IGN;
}

/* True when a handler of the program runs as soon as ours returns. */
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

/* Calls that wait, and that the kernel restarts after handlers that have SA_RESTART only. It
 * restarts others too, whatever handlers there are. */
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

/* True when a handler of the program has run since the call ended there: the sample came on the way
 * back from it. */
static bool program_ended_call(uintptr_t pc, uintptr_t sp)
{
	for (size_t i = 0; i < ENDED; i++)
		if (ended[i].pc == pc && ended[i].sp == sp)
			return true;
	return false;
}

/* Has a call been set back to be made again, by the kernel BEFORE the engine's handler, or by that? */
static void note_restart(const ucontext_t *context, uintptr_t before, bool interrupted)
{
	uintptr_t pc = (uintptr_t)CONTEXT_PC(context), sp = (uintptr_t)CONTEXT_SP(context);

	if (pc == before && pc == restart.from && sp == restart.sp && restart.to != pc &&
	    !restart.by_kernel)
		return; /* by the sample before this one, which was on its way back */
	restart.from = pc;
	restart.sp = sp;
	restart.by_kernel = pc == before;
	restart.to = pc; /* none */
	if (!restart.by_kernel && interrupted)
		restart.to = before;
	else if (restart.by_kernel && call_is_restarted_wait(context) && is_syscall(pc))
		restart.to = pc + SYSCALL_LENGTH;
}

/* Behind the engine's handler, at a call that the kernel has ended, or cut short, at PC. async-profiler
 * sets some calls back to be made again, whatever else came. */
static void call_continue(ucontext_t *context, uintptr_t pc, int error)
{
	uintptr_t sp = (uintptr_t)CONTEXT_SP(context);
	bool by_program = program_handler_is_next(context);

	if (by_program || program_ended_call(pc, sp))
		CONTEXT_PC(context) = (__typeof__(CONTEXT_PC(context)))pc;
	else if ((uintptr_t)CONTEXT_PC(context) != pc || stream_restart_call(context))
		return;
	if (by_program)
		return;
	/* The interposers know by themselves if a handler of the program has run. */
	sample_interrupted = sp;
	sample_errno = error;
}

/* A timer on CPU time is looked at with the kernel's ticks alone, and one signal may stand for several of its
 * turns. async-profiler has no place in its recordings for their number, so it is told of each: else it
 * would lose a sixth of what a thread uses that runs for a moment at a time, at 10 ms, and at 1 ms most. */
static void run_engine(sample_handler handler, int signo, siginfo_t *info, ucontext_t *context)
{
	uintptr_t pc = (uintptr_t)CONTEXT_PC(context);
	int turns = info->si_code == SI_TIMER && info->si_overrun > 0 ? info->si_overrun : 0;

	if (turns)
		info->si_overrun = 0;
	altstack_go_back(handler, signo, info, context);
	/* Not where it has set a call back. */
	for (int i = 0;
	     i < turns && i < LOOP_ITERATIONS_MAX && (uintptr_t)CONTEXT_PC(context) == pc; i++)
		altstack_go_back(handler, signo, info, context);
}

/* By kill(2) or sigqueue(3), or by another process. The engine's are of timers and perf events, and of its own thread.
 * (That one's come without a word about them where too many signals pend, and as if nobody had sent them.) */
static bool is_sent(const siginfo_t *info)
{
	switch (info->si_code) {
	case SI_USER:
		return info->si_pid;
	case SI_QUEUE:
		return true;
	case SI_TKILL:
		return info->si_pid != system_process();
	}
	return false;
}

static void async_profiler_handle_signal(int signo, siginfo_t *info, ucontext_t *context)
{
	sample_handler handler;

	if (is_sent(info)) {
		engine.sent(signo);
		return;
	}
	if (info->si_code == SI_TKILL)
		fd_calls_wall_signal_arrived(system_thread());
	/* Who takes it away sees this, or is seen: what was looked up before may be gone. */
	atomic_fetch_add(&engine.at_work, 1);
	handler = __atomic_load_n(&sample_handlers[signo], __ATOMIC_SEQ_CST);
	if (handler)
		run_engine(handler, signo, info, context);
	atomic_fetch_sub(&engine.at_work, 1);
}

static void on_sample(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	sample_handler handler = __atomic_load_n(&sample_handlers[signo], __ATOMIC_ACQUIRE);
	uintptr_t pc = (uintptr_t)CONTEXT_PC(uc), note = sample_interrupted;
	int saved = errno;
	bool interrupted = call_was_interrupted(uc);

	if (handler && async_profiler_contains((const void *)handler))
		async_profiler_handle_signal(signo, info, context);
	else if (handler)
		handler(signo, info, context);
	/* The handler may have made calls that we interpose, and the program may not have read yet
	 * what the sample before this one left. */
	sample_interrupted = note;
	if (interrupted)
		call_continue(uc, pc, saved);
	note_restart(uc, pc, interrupted);
	errno = saved;
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
	context_return(context, restart.to, -EINTR);
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
	__atomic_fetch_or(&sample_signals, 1ULL << (signo - 1), __ATOMIC_RELAXED);
}

void signal_handlers_offer_signal(int signo)
{
	__atomic_fetch_or(&offered, 1ULL << (signo - 1), __ATOMIC_RELAXED);
	sample_reserve(signo);
}

bool sample_is_offered(int signo)
{
	uint64_t left = __atomic_load_n(&offered, __ATOMIC_RELAXED) &
			__atomic_load_n(&sample_signals, __ATOMIC_RELAXED);

	/* Two are needed: for the CPU time, and for the wall clock. */
	return left >> (signo - 1) & 1 || (signo >= HIGH_REAL_TIME && !(left & (left - 1)));
}

void sample_release(int signo)
{
	__atomic_fetch_and(&sample_signals, ~(1ULL << (signo - 1)), __ATOMIC_RELAXED);
}

bool sample_is_handled(int signo)
{
	return __atomic_load_n(&sample_handlers[signo], __ATOMIC_ACQUIRE);
}

void sample_restore(int signo)
{
	sample_handler handler = NULL;

	if (signo > 0 && signo <= SIGNALS && !signal_is_watched(signo))
		handler = __atomic_load_n(&sample_handlers[signo], __ATOMIC_ACQUIRE);
	if (handler)
		sample_install(signo, handler, all_flags[signo]);
}

/* An engine handles faults that its own handler causes. */
static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT };

bool sample_is_fault(int signo)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (faults[i] == signo)
			return true;
	return false;
}

/* Everything is blocked, so that no handler of the program runs on top of ours unseen. */
static uint64_t blocked_signals(void)
{
	uint64_t blocked = DISPOSITION_ALL;

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		blocked &= ~disposition_bit(faults[i]);
	return blocked;
}

static int sample_install_handler(int signo, int flags)
{
	struct disposition wanted = {
		.handler = (void *)on_sample,
		.flags = (unsigned)(flags | SA_SIGINFO | SA_RESTART | SA_ONSTACK),
		.mask = blocked_signals(),
	};

	return disposition_set(signo, &wanted, NULL);
}

static void sample_note_handler(int signo, sample_handler handler, int flags)
{
	all_flags[signo] = flags;
	__atomic_store_n(&sample_handlers[signo], handler, __ATOMIC_RELEASE);
	sample_reserve(signo);
}

int sample_install(int signo, sample_handler handler, int flags)
{
	sample_note_handler(signo, handler, flags | SA_SIGINFO | SA_RESTART);
	return sample_install_handler(signo, flags);
}

/* ---- The way back ----
 *
 * A signal that comes where its handler is gone ends the process. That none is sent any more is known; but one may pend,
 * in a thread that blocks it or has no processor. To ignore it for a moment drops all of those. And one may be on its
 * way out of the queue: with one of a timer's the kernel lets go of its lock in between (interrupts stay off), and
 * looks at the disposition behind that. So the handler stands there until each processor has done something else. */

/* Of older headers, by its name of then: wait for all processors. */
#define MEMBARRIER_ALL 1

/* Where that call is not to be had, or a filter may end the process for it. */
#define ON_ITS_WAY_NS 100000000u

static _Atomic int removed; /* the last signal that this was done with, or is */

static void wait_for_processors(void)
{
	if (kernel_call6(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) ||
	    kernel_call4(SYS_membarrier, MEMBARRIER_ALL, 0, 0, 0))
		system_sleep(ON_ITS_WAY_NS);
}

/* Set WANTED in place of THERE. False where the program has been quicker: that stays. */
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

int sample_remove(int signo)
{
	struct disposition ours, wanted = { .handler = (void *)SIG_IGN };
	int err = disposition_get(signo, &ours);

	if (err)
		return err;
	atomic_store(&removed, signo);
	if (ours.handler != (void *)on_sample || !action_replace(signo, &wanted, ours.handler) ||
	    !action_replace(signo, &ours, (void *)SIG_IGN))
		return -EBUSY;
	wait_for_processors();
	wanted.handler = (void *)__atomic_load_n(&sample_program_actions[signo], __ATOMIC_RELAXED);
	if (!action_replace(signo, &wanted, ours.handler))
		return -EBUSY;
	__atomic_store_n(&sample_handlers[signo], NULL, __ATOMIC_SEQ_CST);
	return 0;
}

bool sample_remove_engine(void)
{
	bool all = true;

	for (int signo = 1; signo <= SIGNALS; signo++)
		if (async_profiler_contains((const void *)__atomic_load_n(&sample_handlers[signo],
									  __ATOMIC_ACQUIRE)))
			all &= !sample_remove(signo);
	return all;
}

bool sample_engine_is_idle(void)
{
	return !atomic_load(&engine.at_work);
}

/* The kernel copies what is handled before it copies memory. */
void sample_after_fork(void)
{
	static const struct disposition by_default = { .handler = (void *)SIG_DFL };
	struct disposition now;
	int signo = atomic_load(&removed);

	atomic_store(&engine.at_work, 0);
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

const struct sigaction *sample_wrap(int signo, const struct sigaction *action,
				    struct sigaction *changed, void (*sent)(int signo))
{
	if (signo < 1 || signo > SIGNALS || !(action->sa_flags & SA_SIGINFO) ||
	    !async_profiler_contains((const void *)action->sa_sigaction))
		return action;
	*changed = *action;
	if (!sample_is_fault(signo)) {
		uint64_t blocked = blocked_signals();

		engine.sent = sent;
		changed->sa_sigaction = on_sample;
		memcpy(&changed->sa_mask, &blocked, sizeof(blocked));
		sample_note_handler(signo, action->sa_sigaction, action->sa_flags);
	}
	changed->sa_flags |= SA_ONSTACK;
	return changed;
}

void sample_unwrap(int signo, struct sigaction *action)
{
	if (action->sa_sigaction == on_sample)
		action->sa_sigaction = sample_handlers[signo];
}

bool async_profiler_contains(const void *p)
{
	uintptr_t address = (uintptr_t)p;

	return address < __atomic_load_n(&engine.high, __ATOMIC_ACQUIRE) && address >= engine.low;
}

void signal_handlers_set_library(const void *inside)
{
	struct loaded_module library;

	loader_gate_enter();
	library = loaded_module_of(inside);
	loader_gate_leave();
	engine.low = library.low;
	__atomic_store_n(&engine.high, library.high, __ATOMIC_RELEASE);
}
