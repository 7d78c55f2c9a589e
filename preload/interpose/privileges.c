/* Interposes the calls by which a thread goes on with privileges that are its own: capabilities are
 * of a thread, and users and groups should be of a process. glibc changes those in every thread, and
 * aborts when some thread may not; so none of the agent's may be there. */
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

EXPORT int capset(void *header, const void *data)
{
	end_agent();
	return REAL(capset)(header, data);
}

/* The arguments that an option does not have are passed on as they happen to be, as the C library
 * does it. */
EXPORT int prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;

	va_start(list, option);
	for (size_t i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_SECUREBITS || (option == PR_SET_KEEPCAPS && arguments[0]))
		end_agent();
	else if (option == PR_SET_SECCOMP)
		sandbox_ahead();
	return REAL(prctl)(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
