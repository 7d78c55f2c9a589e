/* Our share of the signals that may pend. */
#include "core/signal_share.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/log.h"

static struct {
	_Atomic int64_t left;    /* of the share; may be overdrawn */
	_Atomic int64_t reserve; /* of these, for timers that do not last */
	_Atomic int64_t taken;   /* by us */
	_Atomic uint64_t refused;
	bool told;
} share = { .left = INT64_MAX / 2 };

bool signal_share_take(bool lasts)
{
	int64_t least = lasts ? atomic_load(&share.reserve) : 0;

	if (atomic_fetch_sub(&share.left, 1) <= least) {
		atomic_fetch_add(&share.left, 1);
		return false;
	}
	atomic_fetch_add(&share.taken, 1);
	return true;
}

void signal_share_give(void)
{
	atomic_fetch_sub(&share.taken, 1);
	atomic_fetch_add(&share.left, 1);
}

void signal_share_refuse(void)
{
	atomic_fetch_add(&share.refused, 1);
}

bool signal_share_is_scarce(void)
{
	return atomic_load(&share.left) < 2 * atomic_load(&share.reserve);
}

uint64_t signal_share_refused(void)
{
	return atomic_load(&share.refused);
}

/* Those that pend, or might, of all the user's processes; where that is not told, ours. */
static int64_t count_pending(void)
{
	char text[4096], *line;
	ssize_t length;
	int fd = fd_raise(open("/proc/self/status", O_RDONLY | O_CLOEXEC));

	if (fd < 0)
		return atomic_load(&share.taken);
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	line = strstr(text, "\nSigQ:");
	return line ? strtoll(line + strlen("\nSigQ:"), NULL, 10) : atomic_load(&share.taken);
}

void signal_share_look(void)
{
	struct rlimit limit;
	int64_t all;

	if (getrlimit(RLIMIT_SIGPENDING, &limit))
		return;
	if (limit.rlim_cur >= INT64_MAX / 2) {
		atomic_store(&share.left, INT64_MAX / 2);
		atomic_store(&share.reserve, 0);
		return;
	}
	all = (int64_t)limit.rlim_cur / 2;
	atomic_store(&share.left, all - count_pending());
	atomic_store(&share.reserve, all / 4);
	if (signal_share_refused() && !share.told) {
		share.told = true;
		log_warn("some threads get no CPU samples: a timer for each would take more than "
			 "half of the %llu signals that may pend (ulimit -i)",
			 (unsigned long long)limit.rlim_cur);
	}
}
