/* Interposes the calls that give up privileges, which the agent's threads give up too. Capabilities are of a thread, and
 * users and groups should be of a process: glibc changes those in every thread, and aborts when some thread may not; so
 * while a thread goes on with privileges that are its own, none of the agent's may be there. */
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
		hooks->before_credential_broadcast();
}

/* The call that was made may have failed. */
static void tell(void)
{
	const struct interpose_hooks *hooks = hooks_get();
	int saved = errno;

	if (hooks && exit_is_armed())
		hooks->credentials_lost();
	errno = saved;
}

static bool forbid_ticks(long option)
{
	return option == PR_SET_SECUREBITS || option == PR_SET_KEEPCAPS;
}

static void before_prctl(long option, long first, const void *second)
{
	if (forbid_ticks(option))
		end_agent();
	else if (option == PR_SET_SECCOMP)
		sandbox_begin(first == SECCOMP_MODE_FILTER, second, false);
}

static void after_prctl(long option)
{
	if (forbid_ticks(option) || option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT ||
	    option == PR_SET_NO_NEW_PRIVS)
		tell();
}

/* Without a ruleset it is about what the kernel logs. */
static bool landlock_makes_domain(long ruleset)
{
	return hooks_get() && (int)ruleset >= 0;
}

static bool before_landlock(long ruleset)
{
	if (!landlock_makes_domain(ruleset) || !exit_is_armed())
		return false;
	hooks_get()->before_landlock();
	return true;
}

bool privilege_calls_before(long number, long first, long second, long third)
{
	if (number == SYS_landlock_restrict_self)
		return before_landlock(first);
	if (number == SYS_capset)
		end_agent();
	else if (number == SYS_prctl)
		before_prctl(first, second, (const void *)third);
	return false;
}

/* Users and groups, of one thread: those of the agent can do the same. */
void privilege_calls_after(long number, long first, bool told, bool failed)
{
	if (number == SYS_prctl)
		after_prctl(first);
	else if (number != SYS_landlock_restrict_self)
		tell();
	else if (landlock_makes_domain(first))
		hooks_get()->after_landlock(told, !failed);
}

/* The C library changes users in every thread that it knows of, of which those of the agent are none. Who is root by
 * one of its users can take back all that it gave up, groups too: there is no hurry then. */
static bool before_change_of_process(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	return hooks && exit_is_armed() && hooks->is_root_beside_agent();
}

static int after_change_of_process(bool was_root, int result)
{
	int saved = errno;

	if (was_root && !before_change_of_process())
		tell();
	errno = saved;
	return result;
}

EXPORT int setuid(uid_t user)
{
	bool was_root = before_change_of_process();

	return after_change_of_process(was_root, REAL(setuid)(user));
}

EXPORT int seteuid(uid_t user)
{
	bool was_root = before_change_of_process();

	return after_change_of_process(was_root, REAL(seteuid)(user));
}

EXPORT int setreuid(uid_t real_user, uid_t effective)
{
	bool was_root = before_change_of_process();

	return after_change_of_process(was_root, REAL(setreuid)(real_user, effective));
}

EXPORT int setresuid(uid_t real_user, uid_t effective, uid_t saved)
{
	bool was_root = before_change_of_process();

	return after_change_of_process(was_root, REAL(setresuid)(real_user, effective, saved));
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
