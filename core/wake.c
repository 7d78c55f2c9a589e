/* One thread sleeps, anyone wakes it: a futex word. */
#include "core/wake.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void wake_up(struct wake *wake)
{
	int saved = errno;

	if (!atomic_exchange_explicit(&wake->pending, 1, memory_order_release))
		syscall(SYS_futex, &wake->pending, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}

bool wake_wait(struct wake *wake, uint64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / 1000000000u),
		.tv_nsec = (long)(deadline_ns % 1000000000u),
	};
	long err;

	while (!atomic_exchange_explicit(&wake->pending, 0, memory_order_acquire)) {
		/* WAIT_BITSET, as its time limit is a point of the monotonic clock. */
		err = syscall(SYS_futex, &wake->pending, FUTEX_WAIT_BITSET_PRIVATE, 0,
			      deadline_ns == UINT64_MAX ? NULL : &deadline, NULL,
			      FUTEX_BITSET_MATCH_ANY);
		if (err < 0 && errno == ETIMEDOUT)
			return atomic_exchange_explicit(&wake->pending, 0, memory_order_acquire);
	}
	return true;
}
