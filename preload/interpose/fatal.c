/* Flushes when a signal is about to end the process. What is in force is read from the kernel
 * each time and kept nowhere, since a child of vfork shares our memory but has dispositions
 * of its own. */
#include "preload/interpose/fatal.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

static bool installed;

void fatal_die(int signo)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	uint64_t bit = 1ULL << (signo - 1);

	REAL(sigaction)(signo, &action, NULL);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, sizeof(bit));
	syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), signo);
}

/* A child that has inherited this handler tells nothing. */
static void on_fatal(int signo)
{
	exit_tell(EXITING_BY_SIGNAL);
	fatal_die(signo);
}

static void install(int signo)
{
	struct sigaction action = { .sa_handler = on_fatal, .sa_flags = SA_RESTART | SA_ONSTACK };
	struct sigaction old;

	if (REAL(sigaction)(signo, NULL, &old) || old.sa_handler != SIG_DFL)
		return;
	sigfillset(&action.sa_mask);
	REAL(sigaction)(signo, &action, &old);
	/* Another thread of the program was quicker. */
	if (old.sa_handler != SIG_DFL && old.sa_handler != on_fatal)
		REAL(sigaction)(signo, &old, NULL);
}

void fatal_install(void)
{
	/* The kernel spares the first process of a container from signals that have their
	 * default action, so there is no death to tell; with a handler it would deliver them. */
	if (syscall(SYS_getpid) == 1)
		return;
	__atomic_store_n(&installed, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		install(signals[i]);
}

void fatal_remove(void)
{
	static const struct sigaction none = { .sa_handler = SIG_DFL };
	struct sigaction now;

	if (exit_is_armed())
		__atomic_store_n(&installed, false, __ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!REAL(sigaction)(signals[i], NULL, &now) && now.sa_handler == on_fatal)
			REAL(sigaction)(signals[i], &none, NULL);
}

__sighandler_t fatal_shown(__sighandler_t handler)
{
	return handler == on_fatal ? SIG_DFL : handler;
}

void fatal_changed(int signo)
{
	if (!__atomic_load_n(&installed, __ATOMIC_ACQUIRE))
		return;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (signals[i] == signo && exit_is_armed())
			install(signo);
}
