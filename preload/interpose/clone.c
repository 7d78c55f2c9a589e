/* Interposes the ways to a child with memory of its own that do not lead over fork(3), whose handlers
 * are not run there: clone(2), _Fork(3), and the system calls by syscall(2). */
#include "preload/interpose/clone.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>

#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

static void child_notify(void)
{
	const struct interpose_hooks *hooks = hooks_get();
	int saved = errno;

	if (hooks)
		hooks->process_cloned();
	errno = saved;
}

/* What the child is to do. It has a copy of this; not so of a stack, which may be any. */
static __thread struct {
	int (*function)(void *);
	void *arg;
} next __attribute__((tls_model("initial-exec")));

static int child_begin(void *unused)
{
	int status;

	(void)unused;
	child_notify();
	status = next.function(next.arg);
	exit_notify(EXITING_BY_RETURN);
	return status;
}

/* Variadic as it is, all seven arguments are where those of such a function are; those that the caller does
 * not have are not looked at by the kernel either. */
typedef int clone_call(int (*function)(void *), void *stack, int flags, void *arg, void *parent_id,
		       void *tls, void *child_id);

EXPORT clone_call any_clone __asm__("clone");

EXPORT int any_clone(int (*function)(void *), void *stack, int flags, void *arg, void *parent_id,
		     void *tls, void *child_id)
{
	clone_call *real_clone = (clone_call *)(void *)REAL(clone);

	/* The loader, which finds functions, may not be asked by a thread that it does not know, with data of its own
	 * that is nobody's: Chromium has such a child leave its root. */
	if (flags & CLONE_VM)
		real_find_all();
	/* (One with other thread-local data would not find its copy.) */
	if (!function || flags & (CLONE_VM | CLONE_SETTLS))
		return real_clone(function, stack, flags, arg, parent_id, tls, child_id);
	next.function = function;
	next.arg = arg;
	return real_clone(child_begin, stack, flags, NULL, parent_id, tls, child_id);
}

EXPORT pid_t _Fork(void)
{
	pid_t pid = REAL(_Fork)();

	if (!pid)
		child_notify();
	return pid;
}

static bool has_own_memory(uint64_t flags, uint64_t stack)
{
	return !(flags & CLONE_VM) && !stack;
}

void clone_after_call(long number, long a, long b, long result)
{
	const struct clone_args *args;
	bool is_child = false;

	if (result)
		return;
	switch (number) {
	case SYS_clone:
		is_child = has_own_memory((uint64_t)a, (uint64_t)b);
		break;
	case SYS_clone3:
		args = (const struct clone_args *)a;
		is_child = has_own_memory(args->flags, args->stack);
		break;
#if defined(SYS_fork)
	case SYS_fork:
		is_child = true;
		break;
#endif
	}
	if (is_child)
		child_notify();
}
