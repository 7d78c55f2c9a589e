/* Tells of a crash, and has the process die of it as if nobody had.
 *
 * A fault of an instruction is met again as soon as the handler returns, with the default action: status, core and
 * the registers in it are the kernel's own. What was sent, and what a debugger's or a filter's instruction
 * raised, which would not come again, is sent again with all that was known of it; as it is
 * blocked until the handler returns, it finds the thread where it was. */
#include "preload/interpose/crash.h"

#include <stdatomic.h>
#include <stddef.h>

#include "core/disposition.h"
#include "core/system.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/put_off.h"

/* All whose default action is to dump core. */
static const int signals[] = { SIGSEGV, SIGBUS, SIGILL,  SIGFPE,  SIGABRT,
			       SIGTRAP, SIGSYS, SIGQUIT, SIGXCPU, SIGXFSZ };

/* Whose thread tells, or has told: a child of vfork shares this memory, and not the number. */
static _Atomic pid_t broadcasters, told;

bool crash_is_signal(int signo)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (signals[i] == signo)
			return true;
	return false;
}

/* Raised by an instruction that raises it again. */
static bool signal_recurs(int signo, const siginfo_t *info)
{
	return info->si_code > 0 &&
	       (signo == SIGSEGV || signo == SIGBUS || signo == SIGILL || signo == SIGFPE);
}

void crash_report(int signo, const siginfo_t *info, const void *context)
{
	const struct interpose_hooks *hooks = hooks_get();
	pid_t own = system_process(), nobody = 0;

	if (hooks && exit_is_armed() &&
	    atomic_compare_exchange_strong(&broadcasters, &nobody, own)) {
		hooks->crashed(signo, info->si_code, (uintptr_t)info->si_addr, context);
		exit_notify(EXITING_BY_SIGNAL);
		atomic_store(&told, own);
	} else if (!exit_is_armed()) {
		exit_notify(EXITING_BY_SIGNAL);
	}
	/* The first waits for a bounded time. */
	while (atomic_load(&broadcasters) == own && atomic_load(&told) != own)
		system_sleep(1000000);
}

static void on_crash(int signo, siginfo_t *info, void *context)
{
	static const struct disposition by_default = { .handler = (void *)SIG_DFL };
	bool again = signal_recurs(signo, info);

	/* The kernel keeps from the first process of a namespace what it does not raise itself. */
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
	/* Another thread of the program was quicker. */
	if (old.handler != (void *)SIG_DFL && old.handler != (void *)on_crash)
		disposition_set(signo, &old, NULL);
}

bool crash_is_handler(const void *handler)
{
	return handler == (const void *)on_crash;
}
