/* Interposes the functions that set signal actions. Our handlers stay installed, and the program does not see them. */
#include <string.h>

#include "core/agent/async_profiler.h"
#include "core/disposition.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/program_handler.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

/* The program's HANDLER for SIGNO is in force now. */
static void handler_changed(int signo, __sighandler_t handler)
{
	if (handler == SIG_DFL) {
		sample_restore(signo);
		fatal_reinstall(signo);
	}
}

/* Returns true when HANDLER for a sampling signal is only stored: programs reset all signals in a loop, and a sample
 * must not end them. If it is a function, the signal is given to the program. Sets *OLD to what the program asked
 * for before. */
static bool sampling_signal_keep(int signo, __sighandler_t handler, __sighandler_t *old)
{
	bool is_function = handler != SIG_DFL && handler != SIG_IGN;

	if (exit_is_vfork_child()) {
		*old = __atomic_load_n(&sample_program_actions[signo], __ATOMIC_RELAXED);
		return !is_function;
	}
	if (!is_function) {
		*old = __atomic_exchange_n(&sample_program_actions[signo], handler,
					   __ATOMIC_RELAXED);
		if (handler == SIG_IGN)
			sample_hold(signo);
		return true;
	}
	*old = __atomic_exchange_n(&sample_program_actions[signo], SIG_DFL, __ATOMIC_RELAXED);
	sample_release(signo);
	return false;
}

/* Return the program's ACTION (or NULL) as it goes to the kernel: itself, or CHANGED. */
static const struct sigaction *action_enter_handler(int signo, const struct sigaction *action,
						    struct sigaction *changed)
{
	if (!action)
		return NULL;
	*changed = *action;
	program_handler_note_reset(signo, action->sa_flags & (int)SA_RESETHAND);
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

static int action_change(int signo, const struct sigaction *action, struct sigaction *old)
{
	const struct sigaction *hidden;
	struct sigaction changed, before;

	if (sample_is_signal(signo))
		return sampling_action_change(signo, action, old);
	if (action && async_profiler_take_action(signo, action, &before)) {
		if (old)
			*old = before;
		return 0;
	}
	if (REAL(sigaction)(signo, action_enter_handler(signo, action, &changed), &before))
		return -1;
	hidden = async_profiler_program_action(signo, before.sa_handler);
	before.sa_handler = program_handler_visible(before.sa_handler);
	if (before.sa_handler != fatal_visible_handler(before.sa_handler))
		before = (struct sigaction){ .sa_handler = SIG_DFL };
	if (old)
		*old = hidden ? *hidden : before;
	handler_changed(signo, action ? action->sa_handler : SIG_ERR);
	return 0;
}

/* The program sets ACTION for SIGNO. */
static void action_note(int signo, const struct sigaction *action)
{
	uint64_t mask;

	if (signo != SIGSEGV || !action)
		return;
	memcpy(&mask, &action->sa_mask, sizeof(mask));
	if (disposition_leaves_signal_stack((unsigned)action->sa_flags, mask))
		sample_avoid_signal_stacks();
}

static int action_change_for(int signo, const struct sigaction *action, struct sigaction *old,
			     const void *caller)
{
	if (async_profiler_contains(caller))
		return async_profiler_set_action(signo, action, old);
	action_note(signo, action);
	return action_change(signo, action, old);
}

EXPORT int sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return action_change_for(signo, action, old, __builtin_return_address(0));
}

EXPORT int __sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return action_change_for(signo, action, old, __builtin_return_address(0));
}

/* signal(2) in the variant SET. */
static __sighandler_t handler_change(__sighandler_t (*set)(int, __sighandler_t), int signo,
				     __sighandler_t handler)
{
	const struct sigaction action = { .sa_handler = handler,
					  .sa_flags = set == REAL(sysv_signal)
							      ? (int)SA_RESETHAND | SA_NODEFER
							      : SA_RESTART };
	__sighandler_t entry = program_handler_entry(signo, handler), old;
	const struct sigaction *hidden;
	struct sigaction before;

	program_handler_note_reset(signo, set == REAL(sysv_signal));
	if (sample_is_signal(signo)) {
		if (sampling_signal_keep(signo, handler, &old))
			return old;
		return set(signo, entry) == SIG_ERR ? SIG_ERR : old;
	}
	if (set != REAL(sigset) && async_profiler_take_action(signo, &action, &before))
		return before.sa_handler;
	old = set(signo, entry);
	hidden = async_profiler_program_action(signo, old);
	if (hidden)
		old = hidden->sa_handler;
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
