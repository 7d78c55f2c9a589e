/* Flushes when a signal is about to end the process. What is in force is read from the kernel
 * each time and kept nowhere, since a child of vfork shares our memory but has dispositions
 * of its own. */
#include "preload/interpose/fatal.h"

#include <stdbool.h>
#include <stddef.h>

#include "core/disposition.h"
#include "core/system.h"
#include "preload/interpose/crash.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/put_off.h"
#include "preload/interpose/sample.h"

/* Beyond are those that a program has for itself. */
#define SIGNALS 31

/* All whose default action is to end the process, but for those that dump core. The first process of a namespace is
 * asked to end by the first ENDING of them. */
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

/* The first process of a container. Who asks that to end will not wait long before he kills it. */
static void termination_requested_now(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	if (hooks && exit_is_armed())
		hooks->termination_requested();
}

/* The kernel spares it from signals that have their default action, and so do we: there is no death to tell. */
static bool process_is_spared(void)
{
	if (system_process() != 1)
		return false;
	termination_requested_now();
	return true;
}

/* (SIGQUIT is what some servers take for a request to end when all is served.) */
void fatal_note_handled(int signo)
{
	if ((signo == SIGTERM || signo == SIGINT || signo == SIGQUIT) && system_process() == 1)
		termination_requested_now();
}

/* A child that has inherited this handler tells nothing. */
static void on_fatal(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (process_is_spared() || async_profiler_defer_signal(info))
		return;
	exit_notify(EXITING_BY_SIGNAL);
	fatal_raise_default(signo);
}

static void fatal_install_handler(int signo, bool ending)
{
	static const struct disposition ours = { .handler = (void *)on_fatal,
						 .flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK,
						 .mask = DISPOSITION_ALL };
	struct disposition old;

	if (disposition_get(signo, &old) || old.handler != (void *)SIG_DFL)
		return;
	if (system_process() == 1) {
		if (ending)
			sample_watch(signo, on_fatal);
		return;
	}
	disposition_set(signo, &ours, &old);
	/* Another thread of the program was quicker. */
	if (old.handler != (void *)SIG_DFL && old.handler != (void *)on_fatal)
		disposition_set(signo, &old, NULL);
}

/* As the program has just given SIGNO its default action. */
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

static void remove_those(bool (*wanted)(const void *handler))
{
	struct disposition now;

	for (int signo = 1; signo <= SIGNALS; signo++) {
		if (disposition_get(signo, &now) || !wanted(now.handler))
			continue;
		disposition_set(signo, &by_default, &now);
		/* Another thread of the program was quicker. */
		if (!wanted(now.handler))
			disposition_set(signo, &now, NULL);
	}
}

void fatal_remove(void)
{
	if (exit_is_armed())
		__atomic_store_n(&installed, false, __ATOMIC_RELEASE);
	remove_those(handler_is_ours);
}

void fatal_remove_crashes(void)
{
	if (exit_is_armed())
		__atomic_store_n(&with_crashes, false, __ATOMIC_RELAXED);
	remove_those(crash_is_handler);
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
