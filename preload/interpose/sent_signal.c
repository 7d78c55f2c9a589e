/* What the kernel does with a signal that has no handler. */
#include "preload/interpose/sent_signal.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "core/agent/async_profiler.h"
#include "core/system.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/sample.h"

/* Leave SIGNO pending for the program: block it in the interrupted thread, and send it again. (Linux lets only the
 * main thread name another sender, as of kill(2).) */
static void signal_postpone(int signo, const siginfo_t *info, ucontext_t *context)
{
	uint64_t blocked;
	pid_t process = system_process();

	memcpy(&blocked, &context->uc_sigmask, sizeof(blocked));
	blocked |= 1ULL << (signo - 1);
	memcpy(&context->uc_sigmask, &blocked, sizeof(blocked));
	if (info->si_code == SI_TKILL)
		kernel_call4(SYS_tgkill, process, system_thread(), signo, 0);
	else if (kernel_call4(SYS_rt_sigqueueinfo, process, signo, (long)info, 0))
		kernel_call4(SYS_kill, process, signo, 0, 0);
}

void sent_signal_forward(int signo, const siginfo_t *info, void *context)
{
	/* Also an ignored signal stays pending while it is blocked. */
	if (mask_program_blocked() >> (signo - 1) & 1) {
		signal_postpone(signo, info, context);
		/* (async-profiler cannot be stopped here.) */
		if (!async_profiler_contains((const void *)sample_handler_of(signo)) &&
		    sample_is_signal(signo))
			sample_release(signo);
	}
	/* The kernel ignores such signals for the first process of a namespace. */
	else if (__atomic_load_n(&sample_program_actions[signo], __ATOMIC_RELAXED) == SIG_DFL &&
		 system_process() != 1 && !async_profiler_defer_signal(info))
		fatal_end_process(signo);
}

void sent_signal_handle(int signo, siginfo_t *info, void *context)
{
	if (info->si_code != SI_TIMER &&
	    (info->si_code != SI_QUEUE || info->si_pid != system_process()))
		sent_signal_forward(signo, info, context);
}
