/* Interposes syscall(2). libseccomp and others call seccomp(2) by it. Threads drop privileges by it, and programs
 * make calls that wait (wait_raw.h), create children (clone.h), leave namespaces, exit, or execute (exec.h). */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "core/kernel.h"
#include "preload/interpose/clone.h"
#include "preload/interpose/exec.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/privilege_calls.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sandbox.h"
#include "preload/interpose/wait_limit.h"
#include "preload/interpose/wait_raw.h"

/* If the last argument is on the stack, this is slower than entering the kernel directly. */
static COLD long forward_by_library(long number, long a, long b, long c, long d, long e, long f)
{
	long result = REAL(syscall)(number, a, b, c, d, e, f);

	/* Prevents a tail call. With an argument on the stack, the argument would overwrite the place where the
	 * caller of syscall() has it, or a variable of the caller when the call has fewer arguments. */
	__asm__ volatile("" ::: "memory");
	return result;
}

static long forward(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	if (!ARCH_SYSTEM_CALL_STACK || __builtin_expect(dispatch_is_on(), 0))
		return forward_by_library(number, a, b, c, d, e, f);
	result = kernel_call6(number, a, b, c, d, e, f);
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

/* True for calls that only return on failure. (exit(2) ends one thread.) */
static bool call_leaves(long number)
{
	return number == SYS_exit_group || number == SYS_execve || number == SYS_execveat;
}

static long call_leave(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	bool was_notified;

	if (number == SYS_exit_group) {
		exit_notify(EXITING_AT_ONCE);
		return forward(number, a, b, c, d, e, f);
	}
	was_notified = exec_begin();
	result = forward(number, a, b, c, d, e, f);
	exec_failed(was_notified);
	return result;
}

/* By the calling conventions of Linux the six arguments are where those of a variadic function are. Undefined values
 * are passed on for arguments that a call does not have. */
long any_syscall(long number, long a, long b, long c, long d, long e, long f)
	__attribute__((visibility("hidden"), section("asprof_calls")));

__attribute__((used)) long any_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	bool was_notified;
	int saved;

	if (__builtin_expect(number == SYS_seccomp, 0) &&
	    (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER))
		sandbox_begin(a == SECCOMP_SET_MODE_FILTER, (const void *)c);
	if (__builtin_expect(call_leaves(number), 0))
		return call_leave(number, a, b, c, d, e, f);
	if (__builtin_expect(clone_may_return_in_child(number), 0)) {
		result = forward(number, a, b, c, d, e, f);
		clone_after_call(number, a, b, result);
		return result;
	}
	if (__builtin_expect(wait_includes(number), 0))
		return wait_raw((const long[TRANSFER_LONGS]){ number, a, b, c, d, e, f });
	/* (Our interposers: see namespace.c and address_space.c.) */
	if (__builtin_expect(number == SYS_unshare, 0))
		return unshare((int)a);
	if (__builtin_expect(number == SYS_setns, 0))
		return setns((int)a, (int)b);
	if (__builtin_expect(number == SYS_mlockall, 0))
		return mlockall((int)a);
	if (__builtin_expect(number == SYS_setrlimit, 0))
		return setrlimit((unsigned int)a, (const struct rlimit *)b);
	if (__builtin_expect(number == SYS_prlimit64, 0))
		return prlimit((pid_t)a, (unsigned int)b, (const struct rlimit *)c,
			       (struct rlimit *)d);
	if (__builtin_expect(!privilege_calls_include(number), 1))
		return forward(number, a, b, c, d, e, f);
	was_notified = privilege_calls_before(number, a, b, c);
	result = forward(number, a, b, c, d, e, f);
	saved = errno;
	privilege_calls_after(number, a, was_notified, result < 0);
	errno = saved;
	return result;
}

/* A child with a stack of its own returns from the C library's function there, to the address that is at its top. Our
 * frames are not on that stack, so the program itself must call that function. */
void *syscall_choose(long number, long a, long b) __attribute__((visibility("hidden")));

__attribute__((used)) void *syscall_choose(long number, long a, long b)
{
	return clone_has_stack(number, a, b) ? (void *)REAL(syscall) : (void *)any_syscall;
}

#define STRING(x)  STRING_(x)
#define STRING_(x) #x

__asm__(".pushsection asprof_calls, \"ax\", @progbits\n"
	"	.balign 16\n"
	"	.globl syscall\n"
	"	.type syscall, @function\n"
	"syscall:\n"
	"	.cfi_startproc\n" ARCH_SYSCALL_ENTRY("any_syscall", "syscall_choose",
						     STRING(SYS_clone), STRING(SYS_clone3)) //
	"	.cfi_endproc\n"
	"	.size syscall, . - syscall\n"
	"	.popsection\n");
