/* Waits for the last report when a signal is about to end the process. The actions in force are read from the kernel
 * each time and not stored: a child of vfork(2) shares our memory, but has its own actions. */
#include "preload/interpose/fatal.h"

#include <stdbool.h>
#include <stddef.h>

#include "core/agent/async_profiler.h"
#include "core/disposition.h"
#include "core/system.h"
#include "preload/interpose/crash.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/sample.h"

/* Higher signals are for the program's own use. */
#define SIGNALS 31

/* All signals whose default action ends the process without a core dump. The first TERMINATION_SIGNALS of them ask
 * the first process of a namespace to end. */
static const int signals[] = { SIGTERM, SIGINT,  SIGHUP,    SIGUSR1, SIGUSR2, SIGPIPE,
			       SIGALRM, SIGPROF, SIGVTALRM, SIGIO,   SIGPWR,  SIGSTKFLT };

#define TERMINATION_SIGNALS 3

static bool installed, with_crashes;

static const struct disposition by_default = { .handler = (void *)SIG_DFL };

void fatal_raise_default(int signo)
{
	uint64_t bit = disposition_bit(signo);

	disposition_set(signo, &by_default, NULL);
	kernel_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&bit, 0, sizeof(bit));
	kernel_call4(SYS_tgkill, system_process(), system_thread(), signo, 0);
}

void fatal_end_process(int signo)
{
	exit_notify(EXITING_BY_SIGNAL);
	fatal_raise_default(signo);
}

/* For the first process of a container. The sender will soon use SIGKILL. */
static void termination_requested_now(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	if (hooks && exit_is_armed())
		hooks->termination_requested();
}

/* True if the process continues: the kernel ignores signals with the default action for the first process of a
 * namespace. */
static bool process_is_spared(void)
{
	if (system_process() != 1)
		return false;
	termination_requested_now();
	return true;
}

/* (Some servers end at SIGQUIT after all requests are served.) */
void fatal_note_handled(int signo)
{
	if ((signo == SIGTERM || signo == SIGINT || signo == SIGQUIT) && system_process() == 1)
		termination_requested_now();
}

/* In a child that inherited this handler nothing is notified. */
static void on_fatal(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (process_is_spared() || async_profiler_defer_signal(info))
		return;
	fatal_end_process(signo);
}

static void fatal_install_handler(int signo, bool is_termination)
{
	static const struct disposition ours = { .handler = (void *)on_fatal,
						 .flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK,
						 .mask = DISPOSITION_ALL };
	struct disposition old;

	if (disposition_get(signo, &old) || old.handler != (void *)SIG_DFL)
		return;
	if (system_process() == 1) {
		if (is_termination)
			sample_watch(signo, on_fatal);
		return;
	}
	disposition_set(signo, &ours, &old);
	/* Another thread of the program was faster. */
	if (old.handler != (void *)SIG_DFL && old.handler != (void *)on_fatal)
		disposition_set(signo, &old, NULL);
}

/* Install our handler for SIGNO, which has its default action now. */
static void fatal_install_signal(int signo)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (signals[i] == signo)
			fatal_install_handler(signo, i < TERMINATION_SIGNALS);
	if (__atomic_load_n(&with_crashes, __ATOMIC_RELAXED) && crash_is_signal(signo))
		crash_install(signo);
}

void fatal_include_crashes(void)
{
	__atomic_store_n(&with_crashes, true, __ATOMIC_RELAXED);
}

void fatal_install(void)
{
	__atomic_store_n(&installed, true, __ATOMIC_RELEASE);
	for (int signo = 1; signo <= SIGNALS; signo++)
		fatal_install_signal(signo);
}

static bool handler_is_ours(const void *handler)
{
	return handler == (const void *)on_fatal || crash_is_handler(handler) ||
	       sample_is_watched_handler(handler);
}

static void default_actions_restore(void)
{
	struct disposition now;

	for (int signo = 1; signo <= SIGNALS; signo++) {
		if (disposition_get(signo, &now) || !handler_is_ours(now.handler))
			continue;
		disposition_set(signo, &by_default, &now);
		/* Another thread of the program was faster. */
		if (!handler_is_ours(now.handler))
			disposition_set(signo, &now, NULL);
	}
}

void fatal_remove(void)
{
	if (exit_is_armed())
		__atomic_store_n(&installed, false, __ATOMIC_RELEASE);
	default_actions_restore();
}

/* The kernel ignores signals for the first process of a namespace, and so does not interrupt its calls. */
void fatal_after_fork(void)
{
	if (!__atomic_load_n(&installed, __ATOMIC_ACQUIRE) || system_process() != 1)
		return;
	default_actions_restore();
	fatal_install();
}

__sighandler_t fatal_visible_handler(__sighandler_t handler)
{
	return handler_is_ours((const void *)handler) ? SIG_DFL : handler;
}

void fatal_reinstall(int signo)
{
	if (__atomic_load_n(&installed, __ATOMIC_ACQUIRE) && exit_is_armed())
		fatal_install_signal(signo);
}
