/* Puts signals off that end the process, until a fork(3) is over.
 *
 * async-profiler is stopped for the last report by a thread of the C library's, which wants the locks that fork(3) holds;
 * and that is where most signals are delivered that were sent meanwhile, as the C library has all of them blocked until
 * the copy is made. So one that comes there comes again behind it, with all that was known of it. */
#include "preload/interpose/put_off.h"

#include <errno.h>
#include <stdatomic.h>

#include "asyncprof/loader_gate.h"
#include "core/system.h"
#include "preload/interpose/hooks.h"

static struct {
	_Atomic pid_t process; /* 0, or that of an ancestor: there is none */
	siginfo_t info;
} put_off;

static void deferred_signal_send(void)
{
	siginfo_t info = put_off.info;
	pid_t own = system_process(), thread = system_thread();
	int saved = errno;

	atomic_store(&put_off.process, 0);
	if (kernel_call4(SYS_rt_tgsigqueueinfo, own, thread, info.si_signo, (long)&info))
		kernel_call4(SYS_tgkill, own, thread, info.si_signo, 0);
	errno = saved;
}

/* What the program sends itself is there before that call returns. */
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
	pid_t own = system_process(), there = atomic_load(&put_off.process);

	/* A second one has its effect at once. */
	if (!exit_is_armed() || signal_is_own(info) || there == own ||
	    !atomic_compare_exchange_strong(&put_off.process, &there, own))
		return false;
	put_off.info = *info;
	if (loader_gate_run_after_fork(deferred_signal_send))
		return true;
	atomic_store(&put_off.process, 0);
	return false;
}
