/* Measures how many signals may still pend, in the agent's thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/log.h"
#include "core/signal_share.h"

/* Count the pending or reserved signals of all the user's processes; if that is not known, the agent's own. */
static int64_t count_pending(void)
{
	char text[4096], *line;
	ssize_t length;
	int fd = fd_raise(open("/proc/self/status", O_RDONLY | O_CLOEXEC));

	if (fd < 0)
		return signal_share_reserved();
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	line = strstr(text, "\nSigQ:");
	return line ? strtoll(line + strlen("\nSigQ:"), NULL, 10) : signal_share_reserved();
}

static void signal_share_log_refused(uint64_t limit)
{
	static bool is_logged;
	int err = signal_share_error();

	if (is_logged)
		return;
	is_logged = true;
	if (err == -EAGAIN)
		log_warn("some threads get no CPU samples: their timers would need more than half "
			 "of the %llu pending signals that are allowed (ulimit -i)",
			 (unsigned long long)limit);
	else
		log_warn("some threads get no CPU samples: the kernel gives them no timer "
			 "(timer_create: %s)",
			 strerror(-err));
}

void signal_share_measure(void)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	int64_t all;

	getrlimit(RLIMIT_SIGPENDING, &limit);
	if (limit.rlim_cur >= INT64_MAX / 2) {
		signal_share_set(INT64_MAX / 2, 0);
	} else {
		all = (int64_t)limit.rlim_cur / 2;
		signal_share_set(all - count_pending(), all / 4);
	}
	if (signal_share_refused())
		signal_share_log_refused(limit.rlim_cur);
}
