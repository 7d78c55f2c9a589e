/* Flushes when a signal is about to end the process. What is in force is read from the kernel
 * each time and kept nowhere, since a child of vfork shares our memory but has dispositions
 * of its own. */
#include "preload/interpose/fatal.h"

#include <stdbool.h>
#include <stddef.h>

#include "core/disposition.h"
#include "core/system.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/sample.h"

static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

static bool installed;

static const struct disposition by_default = { .handler = (void *)SIG_DFL };

void fatal_die(int signo)
{
	uint64_t bit = disposition_bit(signo);

	disposition_set(signo, &by_default, NULL);
	kernel_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&bit, 0, sizeof(bit));
	kernel_call4(SYS_tgkill, system_process(), system_thread(), signo, 0);
}

/* The kernel spares the first process of a container from signals that have their default action, and so
 * do we: there is no death to tell. But who sends one will not wait long before he kills it. */
static bool is_spared(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	if (system_process() != 1)
		return false;
	if (hooks && exit_is_armed())
		hooks->end_is_near();
	return true;
}

/* A child that has inherited this handler tells nothing. */
static void on_fatal(int signo)
{
	if (is_spared())
		return;
	exit_tell(EXITING_BY_SIGNAL);
	fatal_die(signo);
}

static void on_watched(int signo, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	on_fatal(signo);
}

static void install(int signo)
{
	static const struct disposition ours = { .handler = (void *)on_fatal,
						 .flags = SA_RESTART | SA_ONSTACK,
						 .mask = DISPOSITION_ALL };
	struct disposition old;

	if (disposition_get(signo, &old) || old.handler != (void *)SIG_DFL)
		return;
	if (system_process() == 1) {
		sample_watch(signo, on_watched);
		return;
	}
	disposition_set(signo, &ours, &old);
	/* Another thread of the program was quicker. */
	if (old.handler != (void *)SIG_DFL && old.handler != (void *)on_fatal)
		disposition_set(signo, &old, NULL);
}

void fatal_install(void)
{
	__atomic_store_n(&installed, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		install(signals[i]);
}

void fatal_remove(void)
{
	struct disposition now;

	if (exit_is_armed())
		__atomic_store_n(&installed, false, __ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!disposition_get(signals[i], &now) &&
		    fatal_shown((__sighandler_t)now.handler) != (__sighandler_t)now.handler)
			disposition_set(signals[i], &by_default, NULL);
}

__sighandler_t fatal_shown(__sighandler_t handler)
{
	return handler == on_fatal || sample_watches((const void *)handler) ? SIG_DFL : handler;
}

void fatal_changed(int signo)
{
	if (!__atomic_load_n(&installed, __ATOMIC_ACQUIRE))
		return;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (signals[i] == signo && exit_is_armed())
			install(signo);
}
