/* Stubs for a build with ASYNCPROF=0: there is no async-profiler. */
#include "core/agent/async_profiler.h"

#include <errno.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* A function of core/agent/async_profiler.h that does nothing. */
#define STUB(type, name, parameters, result)  \
	type async_profiler_##name parameters \
	{                                     \
		return result;                \
	}

STUB(bool, is_wanted, (const struct config *config), false)
STUB(void, reserve_addresses, (void), )
STUB(void, release_addresses, (void), )
STUB(void, start, (const struct config *config), )
STUB(bool, call, (void (*call)(void)), false)
STUB(void, on_exit, (void), )
STUB(void, end, (void), )
STUB(void, check_privileges, (void), )
STUB(void, reset_in_child, (void), )
STUB(bool, contains, (const void *p), false)
STUB(void, handle_signal, (int signo, siginfo_t *info, ucontext_t *context), )
STUB(void, refuse_signal, (const siginfo_t *info), )
STUB(int, set_action, (int signo, const struct sigaction *action, struct sigaction *old), -1)
STUB(bool, take_action, (int signo, const struct sigaction *action, struct sigaction *old), false)
STUB(const struct sigaction *, program_action, (int signo, void (*handler)(int)), NULL)
STUB(bool, defer_signal, (const siginfo_t *info), false)
STUB(void, on_library_constructor, (const void *inside), )
STUB(void, on_program_start, (void), )
STUB(struct engine_thread *, thread_allocate, (void), NULL)
STUB(void *, thread_stack, (struct engine_thread * place, size_t *bytes), NULL)
STUB(void, thread_created, (struct engine_thread * place, bool is_created), )
STUB(void, thread_started, (struct engine_thread * place), )
STUB(void, thread_ended, (void), )
STUB(int, open,
     (struct engine * engine, const struct config *config, struct wake *wake, char *problem),
     -ENOENT)
STUB(void, close, (void), )
