/* async-profiler's signal handlers: how they run inside the agent's handler, and what the program sees of them. */
#include "asyncprof/signal_handlers.h"

#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "arch/arch.h"
#include "asyncprof/engine_thread.h"
#include "asyncprof/fd_calls.h"
#include "asyncprof/loader_gate.h"
#include "asyncprof/thread_names.h"
#include "asyncprof/timer_calls.h"
#include "core/agent/async_profiler.h"
#include "core/clock.h"
#include "core/cost.h"
#include "core/loaded_symbol.h"
#include "core/system.h"
#include "core/timer/cpu_timer.h"
#include "engine/reading/memory_reader.h"
#include "engine/sample/handler_budget.h"
#include "engine/sample/library_signals.h"
#include "preload/interpose/altstack.h"
#include "preload/interpose/crash.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/program_handler.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"
#include "preload/interpose/sent_signal.h"

#define SIGNALS 64

/* Programs allocate real-time signals from SIGRTMIN upwards, so they rarely use signals from this one on. */
#define HIGH_REAL_TIME 50

/* Maximum samples for one signal: a thread that blocked it may owe thousands. (A virtual machine without a processor
 * may have no tick for 50 ms.) */
#define SAMPLES_MAX 100

static uintptr_t library_low, library_high; /* mapped range of the library */
static _Atomic uint32_t running;            /* library handlers that run now */
static uint64_t offered;                    /* a bit for each offered signal */

bool async_profiler_contains(const void *p)
{
	uintptr_t address = (uintptr_t)p;

	return address < __atomic_load_n(&library_high, __ATOMIC_ACQUIRE) && address >= library_low;
}

void signal_handlers_set_library(const void *inside)
{
	struct loaded_module library;

	loader_gate_enter();
	library = loaded_module_of(inside);
	loader_gate_leave();
	library_low = library.low;
	__atomic_store_n(&library_high, library.high, __ATOMIC_RELEASE);
}

/* Take the samples that are due by CPU time. A sample that the budget refuses stays due for the next signal. */
static uint32_t samples_take_due(uintptr_t value, const ucontext_t *context)
{
	struct cpu_timer *timer = timer_calls_find(value);
	uint64_t cpu_ns = clock_cpu_ns();
	uint32_t due = 0;
	bool is_due;

	if (!timer)
		return 0;
	is_due = cpu_timer_is_due(timer, cpu_ns);
	if (is_due && handler_budget_begin(cpu_ns))
		due = cpu_timer_advance(timer, cpu_ns);
	cpu_timer_continue(timer, cpu_ns, !is_due && memory_is_in_system_call(context));
	return due;
}

/* Run the library's HANDLER once for each of SAMPLES: async-profiler's recording has no weight for a sample. */
static void library_handler_run(sample_handler handler, int signo, uint32_t samples,
				siginfo_t *info, ucontext_t *context)
{
	uintptr_t pc = (uintptr_t)CONTEXT_PC(context);

	altstack_run_handler(handler, signo, info, context);
	/* Stop if the handler has set back a system call. */
	for (uint32_t i = 1; i < samples && (uintptr_t)CONTEXT_PC(context) == pc; i++) {
		if (i == SAMPLES_MAX || handler_budget_is_late()) {
			engine_thread_count_skipped(samples - i);
			break;
		}
		altstack_run_handler(handler, signo, info, context);
	}
}

/* True for signals that recur anyway: from async-profiler's own thread and from interval timers. A perf event's handler
 * may have to restart the event. */
static bool signal_may_be_skipped(const siginfo_t *info)
{
	return info->si_code == SI_TKILL || info->si_code == SI_KERNEL;
}

/* True if async-profiler's handler would fault: it reads the interrupted instruction, and memory with PROT_EXEC alone is
 * not readable on processors with protection keys. */
static bool sample_is_unreadable(const siginfo_t *info, const ucontext_t *context)
{
	return (info->si_code == SI_TIMER || signal_may_be_skipped(info)) &&
	       !memory_probe((uintptr_t)CONTEXT_PC(context));
}

/* Return the number of samples to take for a signal; 0: none now. */
static uint32_t signal_count_samples(const siginfo_t *info, const ucontext_t *context)
{
	if (info->si_code == SI_TIMER)
		return samples_take_due((uintptr_t)info->si_value.sival_ptr, context);
	if (handler_budget_begin_wall(clock_cpu_ns()) || !signal_may_be_skipped(info))
		return 1;
	engine_thread_count_skipped(1);
	return 0;
}

/* True for a signal from kill(2), sigqueue(3) or another process. The engine's signals are from timers, perf events and
 * its own thread. (Where too many signals are pending, the kernel drops the siginfo of that thread's signals: they look
 * like SI_USER from pid 0.) */
static bool signal_is_sent(const siginfo_t *info)
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

static void signal_take_samples(sample_handler handler, int signo, siginfo_t *info,
				ucontext_t *context)
{
	uint32_t samples = signal_count_samples(info, context);
	enum cost_kind kind = info->si_code == SI_TKILL ? COST_WALL : COST_CPU;

	cost_add_signal(kind);
	if (!samples)
		return;
	if (sample_is_unreadable(info, context)) {
		engine_thread_count_skipped(samples);
	} else {
		if (thread_names_request())
			engine_thread_wake();
		library_handler_run(handler, signo, samples, info, context);
	}
	cost_add(kind, handler_budget_end(), 1);
}

void async_profiler_handle_signal(int signo, siginfo_t *info, ucontext_t *context)
{
	sample_handler handler;

	if (signal_is_sent(info)) {
		sent_signal_forward(signo, info, context);
		return;
	}
	if (info->si_code == SI_TKILL)
		fd_calls_wall_signal_arrived(system_thread());
	/* A thread that removes the handler sees this count, or this thread sees the removal. After that no system call
	 * may be made: the program may enter a sandbox. */
	atomic_fetch_add(&running, 1);
	handler = sample_handler_of(signo);
	if (handler)
		signal_take_samples(handler, signo, info, context);
	atomic_fetch_sub(&running, 1);
}

void async_profiler_refuse_signal(const siginfo_t *info)
{
	if (info->si_code == SI_TKILL)
		fd_calls_wall_signal_arrived(system_thread());
}

void signal_handlers_offer_signal(int signo)
{
	__atomic_fetch_or(&offered, 1ULL << (signo - 1), __ATOMIC_RELAXED);
	sample_reserve(signo);
}

/* True if the library may see SIGNO as free. */
static bool signal_is_free_for_library(int signo)
{
	uint64_t left = __atomic_load_n(&offered, __ATOMIC_RELAXED) &
			__atomic_load_n(&sample_signals, __ATOMIC_RELAXED);

	/* The library needs two: for CPU time and for the wall clock. */
	return left >> (signo - 1) & 1 ||
	       (signo >= HIGH_REAL_TIME && !(left & (left - 1)) && !signal_is_of_library(signo));
}

/* Return ACTION, which the library installs, as it goes to the kernel. It is CHANGED, with our handler before the
 * library's, except for faults. All library handlers run on the alternate signal stack, except samples of .NET: stacks of
 * the Go runtime have no space for them, and after an overflow no stack has. */
static const struct sigaction *action_wrap(int signo, const struct sigaction *action,
					   struct sigaction *changed)
{
	if (signo < 1 || signo > SIGNALS || !(action->sa_flags & SA_SIGINFO) ||
	    !async_profiler_contains((const void *)action->sa_sigaction))
		return action;
	*changed = *action;
	if (sample_is_fault(signo))
		changed->sa_flags |= SA_ONSTACK;
	else
		sample_wrap(signo, changed);
	return changed;
}

/* Actions of faults: the kernel's while the library handles them, and the program's, which the program still sees. */
static struct {
	struct sigaction engine, program;
	struct sigaction unshared;      /* the kernel's if the program has no handler */
	sample_handler _Atomic library; /* its handler */
	atomic_bool is_noted;           /* the library has noted the handler that it replaced */
	bool is_installed;
	bool is_suspended; /* removed until the engine starts */
} faults[SIGNALS + 1];

static void on_fatal_fault(int signo, siginfo_t *info, void *context)
{
	static const struct sigaction fatal = { .sa_handler = SIG_DFL };

	crash_report(signo, info, context);
	/* The instruction is run again, so that a core dump shows its place. */
	if (signo == SIGSEGV && info->si_code > 0)
		REAL(sigaction)(signo, &fatal, NULL);
	else
		fatal_raise_default(signo);
}

/* Handler of a fault that is not the library's. The library's handlers of faults forward to the next handler, and
 * ignore the default action: SIGTRAP and the first sent SIGSEGV would have no effect. */
static void on_program_fault(int signo, siginfo_t *info, void *context)
{
	struct sigaction *action = &faults[signo].program;
	sample_handler handler = action->sa_sigaction;

	if (action->sa_handler == SIG_DFL || (action->sa_handler == SIG_IGN && info->si_code > 0)) {
		on_fatal_fault(signo, info, context);
	} else if (action->sa_handler != SIG_IGN) {
		if (action->sa_flags & (int)SA_RESETHAND)
			action->sa_handler = SIG_DFL;
		handler(signo, info, context);
	}
}

/* The kernel's handler of faults while the library handles them, with the program's signal mask, which mostly blocks
 * SIGNO. The library's handler may leave by longjmp(3) to its stack walk. Then the next fault there would end the
 * process at once, as if it had no handler.
 *
 * The library notes the program's handler only after it has installed its own. Until then it would call none. */
static void on_engine_fault(int signo, siginfo_t *info, void *context)
{
	sample_handler library = atomic_load(&faults[signo].library);
	const ucontext_t *interrupted = context;

	if (async_profiler_contains((const void *)CONTEXT_PC(interrupted)))
		kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&interrupted->uc_sigmask, 0,
			     sizeof(uint64_t));
	else if (!atomic_load(&faults[signo].is_noted))
		library = on_program_fault;
	library(signo, info, context);
}

/* Set *BEFORE, the action of SIGNO, to what async-profiler sees. ASKS: it does not set an action. async-profiler
 * asks for a free signal, and begins with signals that programs use, often later: shells use SIGVTALRM, profilers and
 * interpreters SIGPROF, garbage collectors SIGPWR. */
static void action_show_library(int signo, bool asks, struct sigaction *before)
{
	bool free = before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN;

	if (signo == SIGSEGV || signo == SIGTRAP)
		before->sa_sigaction = on_program_fault;
	else if (asks && free && !signal_is_free_for_library(signo))
		before->sa_handler = SIG_ERR;
}

static bool library_handles_fault(int signo, void (*handler)(int))
{
	return signo > 0 && signo <= SIGNALS &&
	       __atomic_load_n(&faults[signo].is_installed, __ATOMIC_ACQUIRE) &&
	       faults[signo].engine.sa_handler == handler;
}

/* Let ACTION, the library's for a fault, run with the signal mask and on the stack of PROGRAM, if that has a handler. It
 * stays installed after the first fault, which may be the library's. */
static void action_take_program(struct sigaction *action, const struct sigaction *program)
{
	if (program->sa_handler == SIG_DFL || program->sa_handler == SIG_IGN)
		return;
	action->sa_mask = program->sa_mask;
	action->sa_flags = (program->sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
}

/* async-profiler reads memory that may be unmapped, and its handler skips the read. So it stays in front of the
 * program's. (An exec(2) passes on SIG_IGN. A child of vfork(2) has its own actions, and this memory is its parent's.) */
bool async_profiler_take_action(int signo, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction now;

	if (action->sa_handler == SIG_IGN || action->sa_handler == SIG_ERR ||
	    exit_is_vfork_child() || REAL(sigaction)(signo, NULL, &now) ||
	    !library_handles_fault(signo, now.sa_handler))
		return false;
	*old = faults[signo].program;
	faults[signo].program = *action;
	faults[signo].engine = faults[signo].unshared;
	action_take_program(&faults[signo].engine, action);
	return !REAL(sigaction)(signo, &faults[signo].engine, NULL);
}

const struct sigaction *async_profiler_program_action(int signo, void (*handler)(int))
{
	return library_handles_fault(signo, handler) ? &faults[signo].program : NULL;
}

/* sample_remove() for all signals that the library handles. Returns whether none is left. */
static bool library_remove_handlers(void)
{
	bool all = true;

	for (int signo = 1; signo <= SIGNALS; signo++)
		if (async_profiler_contains((const void *)sample_handler_of(signo)))
			all &= !sample_remove(signo);
	return all;
}

/* Maximum wait until the library's last handlers, which may need the handlers of faults, have returned. */
#define IDLE_TRIES    1000
#define IDLE_PAUSE_NS 1000000u

static void fault_remove(int signo)
{
	struct sigaction before;

	if (REAL(sigaction)(signo, &faults[signo].program, &before))
		return;
	__atomic_store_n(&faults[signo].is_installed, false, __ATOMIC_RELEASE);
	/* The program was faster. */
	if (before.sa_handler != faults[signo].engine.sa_handler) {
		REAL(sigaction)(signo, &before, NULL);
		return;
	}
	faults[signo].is_suspended = true;
	if (faults[signo].program.sa_handler == SIG_DFL)
		fatal_reinstall(signo);
}

void signal_handlers_remove(bool with_faults)
{
	int tries = IDLE_TRIES;

	if (!library_remove_handlers() || !with_faults)
		return;
	while (atomic_load(&running) && --tries)
		system_sleep(IDLE_PAUSE_NS);
	for (int signo = 1; tries && signo <= SIGNALS; signo++)
		if (faults[signo].is_installed)
			fault_remove(signo);
}

void signal_handlers_restore_faults(void)
{
	struct sigaction now;

	for (int signo = 1; signo <= SIGNALS; signo++) {
		if (!faults[signo].is_suspended)
			continue;
		faults[signo].is_suspended = false;
		if (REAL(sigaction)(signo, NULL, &now) ||
		    fatal_visible_handler(now.sa_handler) != faults[signo].program.sa_handler ||
		    REAL(sigaction)(signo, &faults[signo].engine, NULL))
			continue;
		__atomic_store_n(&faults[signo].is_installed, true, __ATOMIC_RELEASE);
	}
}

/* Get the program's action of SIGNO from the kernel's. */
static void action_show_program(int signo, struct sigaction *action)
{
	static const struct sigaction by_default = { .sa_handler = SIG_DFL };
	const struct sigaction *hidden = async_profiler_program_action(signo, action->sa_handler);

	if (hidden)
		*action = *hidden;
	action->sa_handler = program_handler_visible(action->sa_handler);
	sample_unwrap(signo, action);
	if (action->sa_handler != fatal_visible_handler(action->sa_handler))
		*action = by_default;
}

/* Set the library's ACTION of a fault. It calls the program's handler, which needs its own signal mask and stack. */
static int fault_set_action(int signo, const struct sigaction *action, struct sigaction *before)
{
	struct sigaction engine = *action, program;

	if (REAL(sigaction)(signo, NULL, &program))
		return -1;
	action_show_program(signo, &program);
	atomic_store(&faults[signo].library, engine.sa_sigaction);
	engine.sa_sigaction = on_engine_fault;
	faults[signo].unshared = engine;
	action_take_program(&engine, &program);
	faults[signo].engine = engine;
	faults[signo].program = program;
	/* (A fault may come at once.) */
	if (REAL(sigaction)(signo, &engine, before))
		return -1;
	action_show_program(signo, before);
	faults[signo].program = *before;
	__atomic_store_n(&faults[signo].is_installed, true, __ATOMIC_RELEASE);
	return 0;
}

int async_profiler_set_action(int signo, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction changed, before = { .sa_handler = SIG_DFL };

	/* async-profiler would wake its threads by SIGIO. Here they are woken without it (asyncprof/sleep_calls.h),
	 * and SIGIO belongs to the program. */
	if (signo != SIGIO) {
		if (action)
			action = action_wrap(signo, action, &changed);
		if (action && async_profiler_contains((void *)action->sa_handler)
			    ? fault_set_action(signo, action, &before)
			    : REAL(sigaction)(signo, action, &before))
			return -1;
		action_show_program(signo, &before);
		action_show_library(signo, !action, &before);
	}
	if (old)
		*old = before;
	return 0;
}

void signal_handlers_library_returned(void)
{
	for (int signo = 1; signo <= SIGNALS; signo++)
		if (__atomic_load_n(&faults[signo].is_installed, __ATOMIC_ACQUIRE))
			atomic_store(&faults[signo].is_noted, true);
}

void signal_handlers_reset_in_child(void)
{
	atomic_store(&running, 0);
}
