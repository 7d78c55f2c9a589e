/* Interposes the calls that the kernel grants to single-threaded processes alone, and that
 * would fail because of the agent's thread. */
#include <errno.h>
#include <sched.h>

#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

/* A joined thread still counts until the kernel is done with it. */
#define TRIES    50
#define PAUSE_NS 200000

#define UNSHARE_ALONE (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)
#define SETNS_ALONE   (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME)

static bool end_agent(void)
{
	const struct interpose_hooks *hooks = hooks_get();

	return hooks && exit_is_armed() && hooks->before_namespace_change();
}

static void resume_agent(void)
{
	const struct interpose_hooks *hooks = hooks_get();
	int saved = errno;

	if (hooks && exit_is_armed())
		hooks->after_namespace_change();
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
	bool alone = flags & UNSHARE_ALONE;
	int tries = alone && end_agent() ? TRIES : 0;
	int result;

	do
		result = REAL(unshare)(flags);
	while (result && call_may_repeat(&tries));
	if (alone)
		resume_agent();
	return result;
}

EXPORT int setns(int fd, int type)
{
	bool alone = !type || type & SETNS_ALONE;
	int tries = alone && end_agent() ? TRIES : 0;
	int result;

	do
		result = REAL(setns)(fd, type);
	while (result && call_may_repeat(&tries));
	if (alone)
		resume_agent();
	return result;
}
