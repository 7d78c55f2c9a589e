/* Interposes the calls that only a single-threaded process may make. They would fail because of the agent's thread. */
#include <errno.h>
#include <sched.h>

#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

/* The kernel counts a thread for a moment after it was joined. */
#define TRIES    50
#define PAUSE_NS 200000

#define UNSHARE_ALONE (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)
#define SETNS_ALONE   (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME)

/* Sets *WAS_NOTIFIED when the hook was called. Returns how many times the call may be repeated. */
static int suspend_agent(bool alone, bool *was_notified)
{
	const struct interpose_hooks *hooks = hooks_get();

	*was_notified = alone && hooks && exit_is_armed();
	return *was_notified && hooks->before_namespace_change() ? TRIES : 0;
}

static void resume_agent(bool was_notified)
{
	int saved = errno;

	if (was_notified)
		hooks_get()->after_namespace_change();
	errno = saved;
}

static bool call_may_repeat(int *tries)
{
	static const struct timespec moment = { .tv_nsec = PAUSE_NS };

	if ((errno != EINVAL && errno != EUSERS) || !(*tries)--)
		return false;
	REAL(nanosleep)(&moment, NULL);
	return true;
}

EXPORT int unshare(int flags)
{
	bool was_notified;
	int tries = suspend_agent(flags & UNSHARE_ALONE, &was_notified), result;

	do
		result = REAL(unshare)(flags);
	while (result && call_may_repeat(&tries));
	resume_agent(was_notified);
	return result;
}

EXPORT int setns(int fd, int type)
{
	bool was_notified;
	int tries = suspend_agent(!type || type & SETNS_ALONE, &was_notified), result;

	do
		result = REAL(setns)(fd, type);
	while (result && call_may_repeat(&tries));
	resume_agent(was_notified);
	return result;
}
