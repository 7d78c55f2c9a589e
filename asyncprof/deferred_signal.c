/* Defers signals that end the process until fork(3) is over.
 *
 * A thread of the C library stops async-profiler for the last report, and needs the locks that fork(3) holds.
 * Signals sent meanwhile mostly arrive there, because the C library blocks all signals until the copy is made. So a
 * signal that arrives within fork(3) is sent again after it, with its siginfo. */
#include "core/agent/async_profiler.h"

#include <errno.h>
#include <stdatomic.h>

#include "asyncprof/loader_gate.h"
#include "core/system.h"
#include "preload/interpose/hooks.h"

static struct {
	_Atomic pid_t process; /* 0 or an ancestor's: no signal is deferred */
	siginfo_t info;
} deferred;

static void deferred_signal_send(void)
{
	siginfo_t info = deferred.info;
	pid_t own = system_process(), thread = system_thread();
	int saved = errno;

	atomic_store(&deferred.process, 0);
	if (kernel_call4(SYS_rt_tgsigqueueinfo, own, thread, info.si_signo, (long)&info))
		kernel_call4(SYS_tgkill, own, thread, info.si_signo, 0);
	errno = saved;
}

/* A signal that the program sends to itself arrives before that call returns. */
static bool signal_is_own(const siginfo_t *info)
{
	switch (info->si_code) {
	case SI_USER:
	case SI_QUEUE:
	case SI_TKILL:
		return info->si_pid == system_process();
	}
	return false;
}

bool async_profiler_defer_signal(const siginfo_t *info)
{
	pid_t own = system_process(), deferring = atomic_load(&deferred.process);

	/* A second signal is not deferred. */
	if (!exit_is_armed() || signal_is_own(info) || deferring == own ||
	    !atomic_compare_exchange_strong(&deferred.process, &deferring, own))
		return false;
	deferred.info = *info;
	if (loader_gate_run_after_fork(deferred_signal_send))
		return true;
	atomic_store(&deferred.process, 0);
	return false;
}
