/* Interposes the calls that end the process without the library's destructor, to flush before. Prevents
 * async-profiler from flushing at exit itself. Also interposes the call that starts main(). */
#include <stdlib.h>

#include "core/agent/async_profiler.h"
#include "core/loaded_symbol.h"
#include "core/own_thread.h"
#include "core/system.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

/* Process whose end is notified; 0: none, or it was notified; negative while it is being notified. A child of
 * vfork(2) shares this memory, but has another id. */
static pid_t armed;

/* Without the C library, whose older versions cached the id across vfork(2). */
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

bool exit_is_vfork_child(void)
{
	pid_t pid = __atomic_load_n(&armed, __ATOMIC_ACQUIRE), own;

	if (!pid)
		return false;
	own = process_id();
	return pid != own && pid != -own;
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
		/* For example by a signal while exit(3) waits for the report: without this it would end the process
		 * too early. */
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

/* Drops two kinds of exit handlers; all others are registered, also the agent's own.
 *
 * async-profiler's handler stops it with a lock that a thread may have held when this process was forked; then it
 * waits for ever. The agent stops async-profiler itself.
 *
 * A library may register a handler at its first use on an own thread, such as a shared OpenSSL in an upload. It
 * would run before the agent's handler, which uploads once more with that library.
 *
 * A call also shows that async-profiler's constructors run: they register their first C++ object. */
EXPORT int __cxa_atexit(void (*handler)(void *), void *argument, void *library)
{
	/* Found separately: nearly every program calls this function, and most need no other one. */
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

/* Until the program's first code calls this, only the dynamic linker has run code: the constructors of the modules that
 * the program starts with. REAL() finds the default version. An older program asks for another version, which is the
 * same function (glibc's csu/libc-start.c). The jump to it leaves no frame in the program's stacks. */
EXPORT int __libc_start_main(int (*main)(int, char **, char **), int count, char **arguments,
			     int (*init)(void), void (*fini)(void), void (*linker_fini)(void),
			     void *stack_end)
{
	async_profiler_on_program_start();
	return REAL(__libc_start_main)(main, count, arguments, init, fini, linker_fini, stack_end);
}
