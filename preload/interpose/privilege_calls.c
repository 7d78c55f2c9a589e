/* Interposes the calls that change credentials.
 *
 * The kernel keeps credentials for each thread. Threads of the agent must not keep credentials that the whole
 * process has lost. So a call that may have lost some waits until these threads have dropped them too; all other
 * calls return at once.
 *
 * The C library changes users and groups in all of its threads, and aborts if the results differ. It knows
 * async-profiler's threads. They end before such a call, if credentials of a single thread have changed since they
 * began. */
#include "preload/interpose/privilege_calls.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/privileges.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sandbox.h"

#define USERS  (UINT64_C(1) << CAP_SETUID)
#define GROUPS (UINT64_C(1) << CAP_SETGID)
#define CAPS   UINT64_C(0)
#define NEVER  UINT64_MAX

/* Calls that may lose rights, and the capabilities by which the thread regains them. */
static const struct {
	long number;
	uint64_t regaining_caps;
} dropping_calls[] = {
	{ SYS_capset, CAPS },      { SYS_setuid, USERS },     { SYS_setreuid, USERS },
	{ SYS_setresuid, USERS },  { SYS_setgid, GROUPS },    { SYS_setregid, GROUPS },
	{ SYS_setresgid, GROUPS }, { SYS_setgroups, GROUPS },
};

/* A thread has changed only its own credentials. */
static atomic_bool threads_differ;

/* Called after a successful call. */
static void wait_for_agent(uint64_t regaining_caps, bool in_every_thread)
{
	const struct interpose_hooks *hooks = hooks_get();
	int saved = errno;

	if (hooks && privileges_are_lost(regaining_caps, in_every_thread) && exit_is_armed())
		hooks->credentials_lost();
	errno = saved;
}

static void forbid_ticks(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	clock_forbid_ticks();
	if (hooks && exit_is_armed())
		hooks->before_tsc_is_disabled();
}

static void before_prctl(long option, long first, const void *second)
{
	if (option == PR_SET_SECCOMP)
		sandbox_begin(first == SECCOMP_MODE_FILTER, second);
	else if (option == PR_SET_SYSCALL_USER_DISPATCH && first != PR_SYS_DISPATCH_OFF)
		dispatch_begin();
	else if (option == PR_SET_TSC && first == PR_TSC_SIGSEGV)
		forbid_ticks();
}

static void after_prctl(long option)
{
	if (option == PR_SET_SECUREBITS || option == PR_SET_KEEPCAPS)
		atomic_store(&threads_differ, true);
	else if (option == PR_CAPBSET_DROP || option == PR_SET_NO_NEW_PRIVS)
		wait_for_agent(NEVER, false);
}

/* Without a ruleset, the call only changes what the kernel logs. */
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
	if (number == SYS_prctl)
		before_prctl(first, second, (const void *)third);
	return false;
}

static void after_change_of_thread(long number)
{
	atomic_store(&threads_differ, true);
	for (size_t i = 0; i < sizeof(dropping_calls) / sizeof(dropping_calls[0]); i++)
		if (dropping_calls[i].number == number)
			wait_for_agent(dropping_calls[i].regaining_caps, false);
}

void privilege_calls_after(long number, long first, bool was_notified, bool failed)
{
	if (number == SYS_landlock_restrict_self) {
		if (landlock_makes_domain(first))
			hooks_get()->after_landlock(was_notified, !failed);
	} else if (!failed && number == SYS_prctl) {
		after_prctl(first);
	} else if (!failed) {
		after_change_of_thread(number);
	}
}

static bool before_change_of_process(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	return atomic_load(&threads_differ) && hooks && exit_is_armed() &&
	       hooks->before_credential_broadcast();
}

static int after_change_of_process(uint64_t regaining_caps, bool suspended, int result)
{
	int saved = errno;

	if (!result)
		wait_for_agent(regaining_caps, true);
	if (suspended) {
		atomic_store(&threads_differ, false);
		hooks_get()->after_credential_broadcast();
	}
	errno = saved;
	return result;
}

#define CHANGES_PROCESS(name, parameters, arguments, regaining_caps)                             \
	EXPORT int name parameters                                                               \
	{                                                                                        \
		bool suspended = before_change_of_process();                                     \
                                                                                                 \
		return after_change_of_process(regaining_caps, suspended, REAL(name) arguments); \
	}

CHANGES_PROCESS(setuid, (uid_t user), (user), USERS)
CHANGES_PROCESS(seteuid, (uid_t user), (user), USERS)
CHANGES_PROCESS(setreuid, (uid_t real_user, uid_t effective), (real_user, effective), USERS)
CHANGES_PROCESS(setresuid, (uid_t real_user, uid_t effective, uid_t saved),
		(real_user, effective, saved), USERS)
CHANGES_PROCESS(setgid, (gid_t group), (group), GROUPS)
CHANGES_PROCESS(setegid, (gid_t group), (group), GROUPS)
CHANGES_PROCESS(setregid, (gid_t real_group, gid_t effective), (real_group, effective), GROUPS)
CHANGES_PROCESS(setresgid, (gid_t real_group, gid_t effective, gid_t saved),
		(real_group, effective, saved), GROUPS)
CHANGES_PROCESS(setgroups, (size_t count, const gid_t *groups), (count, groups), GROUPS)
CHANGES_PROCESS(initgroups, (const char *user, gid_t group), (user, group), GROUPS)

EXPORT int capset(void *header, const void *data)
{
	int result = REAL(capset)(header, data);

	if (!result)
		after_change_of_thread(SYS_capset);
	return result;
}

/* Like the C library, this passes on undefined values for arguments that an option does not have. */
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
	if (result >= 0)
		after_prctl(option);
	return result;
}
