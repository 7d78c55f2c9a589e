/* Interposes syscall(2), by which libseccomp and others call seccomp(2), threads give up privileges, and
 * programs make calls that wait (wait_raw.h) or children (clone.h), end, or become others (exec.h). */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "core/kernel.h"
#include "preload/interpose/clone.h"
#include "preload/interpose/exec.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/privilege_calls.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sandbox.h"
#include "preload/interpose/wait_raw.h"

#if defined(__x86_64__)
/* Not the C library's: its sixth argument lies where the caller of ours has it, or has a variable
 * of its own when the call takes fewer; and would have to be written there to be handed on. */
static long forward(long number, long a, long b, long c, long d, long e, long f)
{
	long result = kernel_call6(number, a, b, c, d, e, f);

	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}
#elif defined(__aarch64__)
/* All of them are in registers. */
static long forward(long number, long a, long b, long c, long d, long e, long f)
{
	return REAL(syscall)(number, a, b, c, d, e, f);
}
#endif

/* Calls that do not return, or only where they fail. (exit(2) is of a thread.) */
static bool is_leaving(long number)
{
	return number == SYS_exit_group || number == SYS_execve || number == SYS_execveat;
}

static long call_leave(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	bool told;

	if (number == SYS_exit_group) {
		exit_notify(EXITING_AT_ONCE);
		return forward(number, a, b, c, d, e, f);
	}
	told = exec_begin();
	result = forward(number, a, b, c, d, e, f);
	exec_failed(told);
	return result;
}

/* By the calling conventions of Linux the six arguments are where a variadic function's are; those
 * that a call does not have are passed on as what happens to be there. */
EXPORT long any_syscall(long number, long a, long b, long c, long d, long e,
			long f) __asm__("syscall");

EXPORT long any_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	bool told;
	int saved;

	if (__builtin_expect(number == SYS_seccomp, 0) &&
	    (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER))
		sandbox_begin(a == SECCOMP_SET_MODE_FILTER, (const void *)c,
			      (unsigned long)b & SECCOMP_FILTER_FLAG_TSYNC);
	if (__builtin_expect(is_leaving(number), 0))
		return call_leave(number, a, b, c, d, e, f);
	if (__builtin_expect(clone_may_return_in_child(number), 0)) {
		result = forward(number, a, b, c, d, e, f);
		clone_after_call(number, a, b, result);
		return result;
	}
	if (__builtin_expect(wait_raw_includes(number), 0))
		return again_value(
			wait_raw((const long[TRANSFER_LONGS]){ number, a, b, c, d, e, f }), errno);
	if (__builtin_expect(!privilege_calls_include(number), 1))
		return forward(number, a, b, c, d, e, f);
	told = privilege_calls_before(number, a, b, c);
	result = forward(number, a, b, c, d, e, f);
	saved = errno;
	privilege_calls_after(number, a, told, result < 0);
	errno = saved;
	return result;
}
