/* Limit for the pending signals that the agent reserves. */
#include "core/signal_share.h"

#include <stdatomic.h>

#include "core/system.h"

static struct {
	_Atomic int64_t left;    /* of the share; may be negative */
	_Atomic int64_t reserve; /* of these, for short-lived timers */
	_Atomic int64_t taken;   /* by the agent */
	_Atomic bool closed;
	_Atomic uint64_t refused;
	_Atomic int error; /* error of the last refused thread */
} share = { .left = INT64_MAX / 2 };

bool signal_share_reserve(bool is_lasting)
{
	int64_t least = is_lasting ? atomic_load(&share.reserve) : 0;

	/* Count first: either signal_share_close() sees this count, or this sees CLOSED. */
	atomic_fetch_add(&share.taken, 1);
	if (!atomic_load(&share.closed)) {
		if (atomic_fetch_sub(&share.left, 1) > least)
			return true;
		atomic_fetch_add(&share.left, 1);
	}
	atomic_fetch_sub(&share.taken, 1);
	return false;
}

void signal_share_release(void)
{
	atomic_fetch_sub(&share.taken, 1);
	atomic_fetch_add(&share.left, 1);
}

bool signal_share_close(void)
{
	atomic_store(&share.closed, true);
	return !atomic_load(&share.taken);
}

bool signal_share_is_closed(void)
{
	return atomic_load(&share.closed);
}

void signal_share_open(void)
{
	atomic_store(&share.closed, false);
}

bool signal_share_count_refused(pid_t tid, int err)
{
	if (signal_share_is_closed() || system_thread_is_gone(tid))
		return false;
	atomic_store(&share.error, err);
	atomic_fetch_add(&share.refused, 1);
	return true;
}

bool signal_share_is_scarce(void)
{
	return atomic_load(&share.left) < 2 * atomic_load(&share.reserve);
}

uint64_t signal_share_refused(void)
{
	return atomic_load(&share.refused);
}

int signal_share_error(void)
{
	return atomic_load(&share.error);
}

int64_t signal_share_reserved(void)
{
	return atomic_load(&share.taken);
}

void signal_share_after_fork(void)
{
	atomic_fetch_add(&share.left, atomic_exchange(&share.taken, 0));
	atomic_store(&share.refused, 0);
	signal_share_open();
}

void signal_share_set(int64_t left, int64_t reserve)
{
	atomic_store(&share.left, left);
	atomic_store(&share.reserve, reserve);
}
