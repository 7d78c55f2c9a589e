/* Interposes the ways out that pass by the library's destructor, to flush before; and keeps
 * async-profiler from flushing at exit itself. */
#include <stdlib.h>

#include "asyncprof/engine_library.h"
#include "core/loaded_symbol.h"
#include "core/own_thread.h"
#include "core/system.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

/* The process whose end is told; 0: none, or it was told already; with a minus before it while it is being told. A
 * child of vfork shares this memory but not the pid. */
static pid_t armed;

/* Past the C library, whose older versions cached the pid over vfork. */
static pid_t process_id(void)
{
	return system_process();
}

void exit_arm(void)
{
	__atomic_store_n(&armed, process_id(), __ATOMIC_RELEASE);
}

void exit_disarm(void)
{
	__atomic_store_n(&armed, 0, __ATOMIC_RELEASE);
}

bool exit_is_armed(void)
{
	pid_t pid = __atomic_load_n(&armed, __ATOMIC_ACQUIRE);

	return pid && pid == process_id();
}

void exit_notify(enum exiting how)
{
	pid_t own, pid = __atomic_load_n(&armed, __ATOMIC_ACQUIRE);
	const struct interpose_hooks *hooks = hooks_get();

	if (!hooks || !pid)
		return;
	own = process_id();
	if (pid == own && __atomic_compare_exchange_n(&armed, &pid, -own, false, __ATOMIC_ACQ_REL,
						      __ATOMIC_RELAXED)) {
		hooks->process_exiting(how);
		pid = -own;
		__atomic_compare_exchange_n(&armed, &pid, 0, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
	} else if (pid == -own) {
		/* As by a signal while an exit waits for the report: it would end the process in the midst of it. */
		hooks->process_exiting_again();
	}
}

EXPORT void _exit(int status)
{
	exit_notify(EXITING_AT_ONCE);
	REAL(_exit)(status);
	__builtin_unreachable();
}

EXPORT void _Exit(int status)
{
	exit_notify(EXITING_AT_ONCE);
	REAL(_Exit)(status);
	__builtin_unreachable();
}

EXPORT void quick_exit(int status)
{
	exit_notify(EXITING_AT_ONCE);
	REAL(quick_exit)(status);
	__builtin_unreachable();
}

/* Drops two kinds of exit handlers; all others, the agent's own among them, are registered.
 *
 * async-profiler's own stops it under a lock that a thread may have held when this process was
 * forked, and then waits for ever. The agent stops it, where there is one.
 *
 * What a library registers in its first use on a thread of ours, as a shared OpenSSL does in an
 * upload, would run before the agent's own handler, which uploads once more with that library.
 *
 * It also tells that async-profiler's constructors run, by the first object of C++ that they make. */
EXPORT int __cxa_atexit(void (*handler)(void *), void *argument, void *library)
{
	/* Looked for alone: nearly every program comes by here, and most of them need no other. */
	static __typeof__(&__cxa_atexit) next;
	__typeof__(&__cxa_atexit) found = __atomic_load_n(&next, __ATOMIC_RELAXED);

	if (async_profiler_contains((const void *)(uintptr_t)handler))
		return 0;
	if (own_thread_is() && !is_agent_code((const void *)(uintptr_t)handler)) {
		async_profiler_on_library_constructor((const void *)(uintptr_t)handler);
		return 0;
	}
	if (!found) {
		found = (__typeof__(found))loaded_symbol_next("__cxa_atexit").address;
		__atomic_store_n(&next, found, __ATOMIC_RELAXED);
	}
	return found(handler, argument, library);
}
