/* Interposes the functions that set a signal's disposition, so that our handlers stay in place
 * and are not seen. */
#include "preload/interpose/action.h"

#include "core/system.h"
#include "preload/interpose/crash.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/program_handler.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

/* The program's HANDLER for SIGNO is in force. */
static void handler_changed(int signo, __sighandler_t handler)
{
	if (handler == SIG_DFL) {
		sample_restore(signo);
		fatal_reinstall(signo);
	}
}

/* True when the program's HANDLER for a sampling signal is only kept as a wish: programs reset
 * all signals in a loop, and a sample must not kill them. With a handler of its own the signal
 * is given over to the program. *OLD is what it asked for before. */
static bool sampling_signal_keep(int signo, __sighandler_t handler, __sighandler_t *old)
{
	const struct interpose_hooks *hooks = hooks_get();

	if (handler == SIG_DFL || handler == SIG_IGN) {
		*old = __atomic_exchange_n(&sample_program_actions[signo], handler,
					   __ATOMIC_RELAXED);
		return true;
	}
	*old = __atomic_exchange_n(&sample_program_actions[signo], SIG_DFL, __ATOMIC_RELAXED);
	sample_release(signo);
	if (hooks)
		hooks->signal_claimed(signo);
	return false;
}

/* ACTION of the program's as it goes to the kernel: itself, or CHANGED. NULL is none. */
static const struct sigaction *action_enter_handler(int signo, const struct sigaction *action,
						    struct sigaction *changed)
{
	if (!action)
		return NULL;
	*changed = *action;
	changed->sa_handler = program_handler_entry(signo, action->sa_handler);
	return changed;
}

static int sampling_action_change(int signo, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before = {
		.sa_handler = __atomic_load_n(&sample_program_actions[signo], __ATOMIC_RELAXED),
	};
	struct sigaction changed;
	bool kept = true;

	if (action)
		kept = sampling_signal_keep(signo, action->sa_handler, &before.sa_handler);
	if (!kept && REAL(sigaction)(signo, action_enter_handler(signo, action, &changed), NULL))
		return -1;
	if (old)
		*old = before;
	return 0;
}

/* async-profiler's handlers of faults hand on what is not theirs, and a default action they take
 * for "go on": a SIGTRAP would be ignored, and the first SIGSEGV that somebody sends. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
	static const struct sigaction fatal = { .sa_handler = SIG_DFL };

	crash_report(signo, info, context);
	/* The instruction is tried again, so that a core dump shows the place. */
	if (signo == SIGSEGV && info->si_code > 0)
		REAL(sigaction)(signo, &fatal, NULL);
	else
		fatal_raise_default(signo);
}

/* Somebody has sent async-profiler's signal to the program, which has no handler for it. */
static void on_sent(int signo)
{
	bool ignored = __atomic_load_n(&sample_program_actions[signo], __ATOMIC_RELAXED) == SIG_IGN;
	bool blocked = mask_program_blocked() >> (signo - 1) & 1;

	/* The kernel spares the first process of a namespace. */
	if (ignored || blocked || system_process() == 1)
		return;
	exit_notify(EXITING_BY_SIGNAL);
	fatal_raise_default(signo);
}

/* What async-profiler is shown of the disposition of SIGNO, when it only ASKS or when it sets one.
 * It asks for a signal that is free, and begins with those that programs have uses for: shells
 * handle SIGVTALRM, profilers and interpreters SIGPROF, collectors of garbage SIGPWR, and often later than it looks. */
static void show_engine(int signo, bool asks, struct sigaction *before)
{
	bool free = before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN;

	if ((signo == SIGTRAP || signo == SIGSEGV) && before->sa_handler == SIG_DFL)
		before->sa_sigaction = on_fault;
	else if (asks && free && !sample_is_offered(signo))
		before->sa_handler = SIG_ERR;
}

/* Where async-profiler has a handler that takes no samples, but of faults: its own, and what the program had there and
 * goes on to see. */
static struct {
	struct sigaction engine, program;
	bool is_there;
	bool comes_again; /* it is away until the engine starts */
} faults[64 + 1];

static void note_fault(int signo, const struct sigaction *engine, const struct sigaction *program)
{
	faults[signo].engine = *engine;
	faults[signo].program = *program;
	__atomic_store_n(&faults[signo].is_there, true, __ATOMIC_RELEASE);
}

static bool async_profiler_program_action(int signo, __sighandler_t handler)
{
	return signo > 0 && signo <= 64 &&
	       __atomic_load_n(&faults[signo].is_there, __ATOMIC_ACQUIRE) &&
	       faults[signo].engine.sa_handler == handler;
}

/* async-profiler reads what may not be there, and its handler has it go on: that stays, or comes back, where the
 * program has the default action, as where all signals are reset in a loop. For any other fault it does
 * what the default action does (on_fault). */
static bool async_profiler_kept_action(int signo, const struct sigaction *action)
{
	return action && action->sa_handler == SIG_DFL && signo > 0 && signo <= 64 &&
	       async_profiler_program_action(signo, faults[signo].engine.sa_handler) &&
	       faults[signo].program.sa_handler == SIG_DFL;
}

/* What the engine has for faults: how long its last handlers are waited for, which might meet one. */
#define IDLE_TRIES    1000
#define IDLE_PAUSE_NS 1000000u

static void take_away(int signo)
{
	struct sigaction before;

	if (REAL(sigaction)(signo, &faults[signo].program, &before))
		return;
	__atomic_store_n(&faults[signo].is_there, false, __ATOMIC_RELEASE);
	/* The program has been quicker. */
	if (before.sa_handler != faults[signo].engine.sa_handler) {
		REAL(sigaction)(signo, &before, NULL);
		return;
	}
	faults[signo].comes_again = true;
	if (faults[signo].program.sa_handler == SIG_DFL)
		fatal_reinstall(signo);
}

void action_engine_leaves(bool with_faults)
{
	int tries = IDLE_TRIES;

	if (!sample_remove_engine() || !with_faults)
		return;
	while (!sample_engine_is_idle() && --tries)
		system_sleep(IDLE_PAUSE_NS);
	for (int signo = 1; tries && signo <= 64; signo++)
		if (faults[signo].is_there)
			take_away(signo);
}

void action_engine_returns(void)
{
	struct sigaction now;

	for (int signo = 1; signo <= 64; signo++) {
		if (!faults[signo].comes_again)
			continue;
		faults[signo].comes_again = false;
		if (REAL(sigaction)(signo, NULL, &now) ||
		    fatal_visible_handler(now.sa_handler) != faults[signo].program.sa_handler ||
		    REAL(sigaction)(signo, &faults[signo].engine, NULL))
			continue;
		__atomic_store_n(&faults[signo].is_there, true, __ATOMIC_RELEASE);
	}
}

/* By SIGIO async-profiler would wake its threads, which here are woken without (asyncprof/sleep_calls.h): it is the program's. */
static int leave_wake(struct sigaction *old)
{
	if (old)
		*old = (struct sigaction){ .sa_handler = SIG_DFL };
	return 0;
}

static int action_change_for(int signo, const struct sigaction *action, struct sigaction *old,
			     const void *caller)
{
	struct sigaction changed, before;
	__sighandler_t handler = action ? action->sa_handler : SIG_ERR, was;
	bool engine = async_profiler_contains(caller),
	     keeps = !engine && async_profiler_kept_action(signo, action);

	if (!engine && sample_is_signal(signo))
		return sampling_action_change(signo, action, old);
	if (engine && signo == SIGIO)
		return leave_wake(old);
	if (engine && action)
		action = sample_wrap(signo, action, &changed, on_sent);
	else if (keeps)
		action = &faults[signo].engine;
	else
		action = action_enter_handler(signo, action, &changed);
	if (REAL(sigaction)(signo, action, &before))
		return -1;
	was = before.sa_handler;
	before.sa_handler = program_handler_visible(before.sa_handler);
	if (engine)
		sample_unwrap(signo, &before);
	if (before.sa_handler != fatal_visible_handler(before.sa_handler))
		before = (struct sigaction){ .sa_handler = SIG_DFL };
	if (engine && action && async_profiler_contains((void *)action->sa_handler))
		note_fault(signo, action, &before);
	if (engine)
		show_engine(signo, !action, &before);
	else if (async_profiler_program_action(signo, was))
		before = faults[signo].program;
	if (old)
		*old = before;
	if (!engine && !keeps)
		handler_changed(signo, handler);
	return 0;
}

EXPORT int sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return action_change_for(signo, action, old, __builtin_return_address(0));
}

EXPORT int __sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return action_change_for(signo, action, old, __builtin_return_address(0));
}

/* signal(2) in one of its flavours, which is SET. */
static __sighandler_t handler_change(__sighandler_t (*set)(int, __sighandler_t), int signo,
				     __sighandler_t handler)
{
	static const struct sigaction by_default = { .sa_handler = SIG_DFL };
	__sighandler_t entry = program_handler_entry(signo, handler), old;
	struct sigaction before;

	if (sample_is_signal(signo)) {
		if (sampling_signal_keep(signo, handler, &old))
			return old;
		return set(signo, entry) == SIG_ERR ? SIG_ERR : old;
	}
	if (handler == SIG_DFL && async_profiler_kept_action(signo, &by_default))
		return action_change_for(signo, &by_default, &before, NULL) ? SIG_ERR
									    : before.sa_handler;
	old = set(signo, entry);
	if (async_profiler_program_action(signo, old))
		old = faults[signo].program.sa_handler;
	old = fatal_visible_handler(program_handler_visible(old));
	if (old != SIG_ERR)
		handler_changed(signo, handler);
	return old;
}

EXPORT __sighandler_t signal(int signo, __sighandler_t handler)
{
	return handler_change(REAL(signal), signo, handler);
}

EXPORT __sighandler_t ssignal(int signo, __sighandler_t handler)
{
	return handler_change(REAL(signal), signo, handler);
}

EXPORT __sighandler_t bsd_signal(int signo, __sighandler_t handler)
{
	return handler_change(REAL(signal), signo, handler);
}

EXPORT __sighandler_t sysv_signal(int signo, __sighandler_t handler)
{
	return handler_change(REAL(sysv_signal), signo, handler);
}

EXPORT __sighandler_t __sysv_signal(int signo, __sighandler_t handler)
{
	return handler_change(REAL(sysv_signal), signo, handler);
}

EXPORT __sighandler_t sigset(int signo, __sighandler_t handler)
{
	return handler_change(REAL(sigset), signo, handler);
}

EXPORT int sigignore(int signo)
{
	__sighandler_t old;

	if (sample_is_signal(signo))
		return sampling_signal_keep(signo, SIG_IGN, &old) ? 0 : -1;
	return REAL(sigignore)(signo);
}
