/* Interposes the calls that create a child with its own memory without fork(3), whose handlers do not run there:
 * clone(2), _Fork(3), and the system calls by syscall(2). */
#include "preload/interpose/clone.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "engine/reading/memory_reader.h"
#include "engine/reading/thread_data.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

static void child_notify(void)
{
	const struct interpose_hooks *hooks = hooks_get();
	int saved = errno;
	stack_t now;

	if (hooks) {
		/* Unlike fork(3)'s child, this one has no list of locks, by which a thread is recognized. */
		if (!REAL(sigaltstack)(NULL, &now))
			thread_data_note(now.ss_sp);
		hooks->process_cloned();
	}
	errno = saved;
}

/* Function of the child, which has a copy of this. Its stack cannot be used for this: it may be any. */
static __thread struct {
	int (*function)(void *);
	void *arg;
} child __attribute__((tls_model("initial-exec")));

static int child_begin(void *unused)
{
	int status;

	(void)unused;
	child_notify();
	status = child.function(child.arg);
	exit_notify(EXITING_BY_RETURN);
	return status;
}

/* All seven arguments are where those of a variadic function are. The kernel ignores arguments that the caller does
 * not have. */
typedef int clone_call(int (*function)(void *), void *stack, int flags, void *arg, void *parent_id,
		       void *tls, void *child_id);

EXPORT clone_call any_clone __asm__("clone");

EXPORT int any_clone(int (*function)(void *), void *stack, int flags, void *arg, void *parent_id,
		     void *tls, void *child_id)
{
	clone_call *real_clone = (clone_call *)(void *)REAL(clone);

	/* A thread that the dynamic linker does not know, with another thread pointer, must not call it to find
	 * functions: Chromium has such a child, which leaves its root directory. */
	if (flags & CLONE_VM)
		real_find_all();
	/* (A child with other thread-local data would not find its copy.) */
	if (!function || flags & (CLONE_VM | CLONE_SETTLS))
		return real_clone(function, stack, flags, arg, parent_id, tls, child_id);
	child.function = function;
	child.arg = arg;
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

bool clone_has_stack(long number, long a, long b)
{
	uintptr_t place = (uintptr_t)a + offsetof(struct clone_args, stack);
	uint64_t stack;

	if (number == SYS_clone)
		return b;
	/* (The kernel refuses arguments that cannot be read.) */
	return number == SYS_clone3 && memory_copy(&stack, place, sizeof(stack)) && stack;
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
