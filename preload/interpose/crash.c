/* Reports a crash, then ends the process by the same signal with the default action.
 *
 * A faulting instruction faults again when the handler returns, with the default action: status, core and registers
 * are the kernel's own. A sent signal, or one raised by a debugger's or a seccomp filter's instruction, would not
 * recur. It is sent again with the same siginfo. It is blocked until the handler returns, so it arrives at the same
 * place. */
#include "preload/interpose/crash.h"

#include <stdatomic.h>
#include <stddef.h>

#include "core/agent/async_profiler.h"
#include "core/disposition.h"
#include "core/system.h"
#include "preload/interpose/hooks.h"

/* All signals whose default action dumps core. */
static const int signals[] = { SIGSEGV, SIGBUS, SIGILL,  SIGFPE,  SIGABRT,
			       SIGTRAP, SIGSYS, SIGQUIT, SIGXCPU, SIGXFSZ };

/* Process whose thread is reporting, or has reported: a child of vfork(2) shares this memory, but has another id. */
static _Atomic pid_t reporting, reported;

bool crash_is_signal(int signo)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (signals[i] == signo)
			return true;
	return false;
}

/* True for a fault, which recurs when its instruction runs again. */
static bool signal_recurs(int signo, const siginfo_t *info)
{
	return info->si_code > 0 &&
	       (signo == SIGSEGV || signo == SIGBUS || signo == SIGILL || signo == SIGFPE);
}

void crash_report(int signo, const siginfo_t *info, const void *context)
{
	const struct interpose_hooks *hooks = hooks_get();
	pid_t own = system_process(), none = 0;

	if (hooks && exit_is_armed() && atomic_compare_exchange_strong(&reporting, &none, own)) {
		hooks->crashed(signo, info->si_code, (uintptr_t)info->si_addr, context);
		exit_notify(EXITING_BY_SIGNAL);
		atomic_store(&reported, own);
	} else if (!exit_is_armed()) {
		exit_notify(EXITING_BY_SIGNAL);
	}
	/* The first thread waits for a bounded time. */
	while (atomic_load(&reporting) == own && atomic_load(&reported) != own)
		system_sleep(1000000);
}

static void on_crash(int signo, siginfo_t *info, void *context)
{
	static const struct disposition by_default = { .handler = (void *)SIG_DFL };
	bool again = signal_recurs(signo, info);

	/* The kernel ignores such signals for the first process of a namespace, except its own faults. */
	if (system_process() == 1 && !again)
		return;
	if (info->si_code <= 0 && async_profiler_defer_signal(info))
		return;
	crash_report(signo, info, context);
	disposition_set(signo, &by_default, NULL);
	if (!again && kernel_call4(SYS_rt_tgsigqueueinfo, system_process(), system_thread(), signo,
				   (long)info))
		kernel_call4(SYS_tgkill, system_process(), system_thread(), signo, 0);
}

void crash_install(int signo)
{
	static const struct disposition ours = { .handler = (void *)on_crash,
						 .flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK,
						 .mask = DISPOSITION_ALL };
	struct disposition old;

	if (system_process() == 1 && signo != SIGSEGV && signo != SIGBUS && signo != SIGILL &&
	    signo != SIGFPE)
		return;
	if (disposition_get(signo, &old) || old.handler != (void *)SIG_DFL)
		return;
	disposition_set(signo, &ours, &old);
	/* Another thread of the program was faster. */
	if (old.handler != (void *)SIG_DFL && old.handler != (void *)on_crash)
		disposition_set(signo, &old, NULL);
}

bool crash_is_handler(const void *handler)
{
	return handler == (const void *)on_crash;
}
