/* Interposes the calls by which a thread goes on with privileges that are its own: capabilities are
 * of a thread, and users and groups should be of a process. glibc changes those in every thread, and
 * aborts when some thread may not; so none of the agent's may be there. */
#include "preload/interpose/privilege_calls.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>

#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sandbox.h"

static void end_agent(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	if (hooks && exit_is_armed())
		hooks->before_privilege_change();
}

/* The call that was made may have failed. */
static void tell(void)
{
	const struct interpose_hooks *hooks = hooks_get();
	int saved = errno;

	if (hooks && exit_is_armed())
		hooks->after_privilege_change();
	errno = saved;
}

static bool is_for_one_thread(long option)
{
	return option == PR_SET_SECUREBITS || option == PR_SET_KEEPCAPS;
}

static void before_prctl(long option, long first, const void *second)
{
	if (is_for_one_thread(option))
		end_agent();
	else if (option == PR_SET_SECCOMP)
		sandbox_ahead(first == SECCOMP_MODE_FILTER, second, false);
}

static void after_prctl(long option)
{
	if (is_for_one_thread(option) || option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT ||
	    option == PR_SET_NO_NEW_PRIVS)
		tell();
}

void privileges_before_call(long number, long first, long second, long third)
{
	if (number == SYS_capset)
		end_agent();
	else if (number == SYS_prctl)
		before_prctl(first, second, (const void *)third);
}

/* Users and groups, of one thread: those of the agent can do the same. */
void privileges_after_call(long number, long first)
{
	if (number == SYS_prctl)
		after_prctl(first);
	else
		tell();
}

EXPORT int capset(void *header, const void *data)
{
	int result;

	end_agent();
	result = REAL(capset)(header, data);
	tell();
	return result;
}

/* The arguments that an option does not have are passed on as they happen to be, as the C library
 * does it. */
EXPORT int prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;
	int result;

	va_start(list, option);
	for (size_t i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	before_prctl(option, (long)arguments[0], (const void *)arguments[1]);
	result = REAL(prctl)(option, arguments[0], arguments[1], arguments[2], arguments[3]);
	after_prctl(option);
	return result;
}
