/* System calls that wait, and their time limits. */
#include "preload/interpose/wait_limit.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "core/clock.h"
#include "core/kernel.h"
#include "engine/reading/memory_reader.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define NUMBER(word, number) ((number) / 64 == (word) ? UINT64_C(1) << ((number) % 64) : 0)

/* Some processors lack these. */
#ifdef SYS_poll
#define OLD_NUMBERS(word)                                                                   \
	(NUMBER(word, SYS_poll) | NUMBER(word, SYS_select) | NUMBER(word, SYS_epoll_wait) | \
	 NUMBER(word, SYS_pause))
#else
#define OLD_NUMBERS(word) 0
#endif

#define TRANSFER_NUMBERS(word)                                                                 \
	(NUMBER(word, SYS_read) | NUMBER(word, SYS_readv) | NUMBER(word, SYS_pread64) |        \
	 NUMBER(word, SYS_preadv) | NUMBER(word, SYS_preadv2) | NUMBER(word, SYS_recvfrom) |   \
	 NUMBER(word, SYS_recvmsg) | NUMBER(word, SYS_recvmmsg) | NUMBER(word, SYS_accept) |   \
	 NUMBER(word, SYS_accept4) | NUMBER(word, SYS_write) | NUMBER(word, SYS_writev) |      \
	 NUMBER(word, SYS_pwrite64) | NUMBER(word, SYS_pwritev) | NUMBER(word, SYS_pwritev2) | \
	 NUMBER(word, SYS_sendto) | NUMBER(word, SYS_sendmsg) | NUMBER(word, SYS_sendmmsg) |   \
	 NUMBER(word, SYS_connect) | NUMBER(word, SYS_sendfile) |                              \
	 NUMBER(word, SYS_copy_file_range) | NUMBER(word, SYS_splice) |                        \
	 NUMBER(word, SYS_getrandom) | NUMBER(word, SYS_ioctl))

#define NUMBERS(word)                                                                           \
	(OLD_NUMBERS(word) | TRANSFER_NUMBERS(word) | NUMBER(word, SYS_futex) |                 \
	 NUMBER(word, SYS_ppoll) | NUMBER(word, SYS_pselect6) | NUMBER(word, SYS_epoll_pwait) | \
	 NUMBER(word, SYS_epoll_pwait2) | NUMBER(word, SYS_nanosleep) |                         \
	 NUMBER(word, SYS_clock_nanosleep) | NUMBER(word, SYS_rt_sigtimedwait) |                \
	 NUMBER(word, SYS_rt_sigsuspend) | NUMBER(word, SYS_io_getevents) |                     \
	 NUMBER(word, SYS_io_pgetevents) | NUMBER(word, SYS_semop) |                            \
	 NUMBER(word, SYS_semtimedop) | NUMBER(word, SYS_msgrcv) | NUMBER(word, SYS_msgsnd) |   \
	 NUMBER(word, SYS_fallocate) | NUMBER(word, SYS_bpf) | NUMBER(word, SYS_io_uring_enter))

const uint64_t wait_numbers[WAIT_NUMBERS / 64] = { NUMBERS(0), NUMBERS(1), NUMBERS(2), NUMBERS(3),
						   NUMBERS(4), NUMBERS(5), NUMBERS(6), NUMBERS(7) };

const uint64_t transfer_numbers[WAIT_NUMBERS / 64] = { TRANSFER_NUMBERS(0), TRANSFER_NUMBERS(1),
						       TRANSFER_NUMBERS(2), TRANSFER_NUMBERS(3),
						       TRANSFER_NUMBERS(4), TRANSFER_NUMBERS(5),
						       TRANSFER_NUMBERS(6), TRANSFER_NUMBERS(7) };

struct wait_limit wait_limit_of(const long *call)
{
	switch (call[0]) {
#ifdef SYS_poll
	case SYS_poll:
		return (struct wait_limit){ LIMIT_MILLISECONDS, 3, CLOCK_MONOTONIC };
	case SYS_epoll_wait:
		return (struct wait_limit){ LIMIT_MILLISECONDS, 4, CLOCK_MONOTONIC };
	case SYS_select:
		return (struct wait_limit){ LIMIT_TIMEVAL_LEFT, 5, CLOCK_MONOTONIC };
#endif
	case SYS_epoll_pwait:
		return (struct wait_limit){ LIMIT_MILLISECONDS, 4, CLOCK_MONOTONIC };
	case SYS_ppoll:
		return (struct wait_limit){ LIMIT_TIMESPEC_LEFT, 3, CLOCK_MONOTONIC };
	case SYS_pselect6:
		return (struct wait_limit){ LIMIT_TIMESPEC_LEFT, 5, CLOCK_MONOTONIC };
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		return (struct wait_limit){ LIMIT_TIMESPEC, 4, CLOCK_MONOTONIC };
	case SYS_rt_sigtimedwait:
		return (struct wait_limit){ LIMIT_TIMESPEC, 3, CLOCK_MONOTONIC };
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return (struct wait_limit){ LIMIT_TIMESPEC, 5, CLOCK_MONOTONIC };
	case SYS_futex:
		if ((call[2] & FUTEX_CMD_MASK) == FUTEX_WAIT)
			return (struct wait_limit){ LIMIT_TIMESPEC, 4, CLOCK_MONOTONIC };
		break;
	case SYS_nanosleep:
		return (struct wait_limit){ LIMIT_TIMESPEC, 1, CLOCK_MONOTONIC };
	case SYS_clock_nanosleep:
		if (!(call[2] & TIMER_ABSTIME))
			return (struct wait_limit){ LIMIT_TIMESPEC, 3,
						    call[1] == CLOCK_REALTIME
							    ? CLOCK_MONOTONIC
							    : (clockid_t)call[1] };
		break;
	case SYS_io_uring_enter:
		if ((call[1 + RING_FLAGS] &
		     (RING_HAS_STRUCT | RING_IS_ABSOLUTE | RING_HAS_INDEX)) == RING_HAS_STRUCT)
			return (struct wait_limit){ LIMIT_RING, 1 + RING_STRUCT, CLOCK_MONOTONIC };
		break;
	}
	return (struct wait_limit){ LIMIT_NONE, 0, CLOCK_MONOTONIC };
}

int64_t wait_limit_now(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_read(clock, &now);
	return (int64_t)clock_time_ns(&now);
}

/* Longer limits are shortened to 30 years. */
#define MOST_S 1000000000

int64_t wait_limit_time(int64_t seconds, int64_t ns)
{
	return (seconds < MOST_S ? seconds : MOST_S) * 1000000000 + ns;
}

int64_t wait_limit_ns(const struct wait_limit *limit, const long *call)
{
	const struct timespec *spec = (const struct timespec *)call[limit->at];
	const struct timeval *val = (const struct timeval *)call[limit->at];
	const struct ring_wait *ring = (const struct ring_wait *)call[limit->at];

	switch (limit->kind) {
	case LIMIT_MILLISECONDS:
		return (int)call[limit->at] < 0 ? -1 : (int)call[limit->at] * 1000000LL;
	case LIMIT_RING:
		spec = (const struct timespec *)(uintptr_t)ring->time;
		/* fall through */
	case LIMIT_TIMESPEC:
	case LIMIT_TIMESPEC_LEFT:
		return spec ? wait_limit_time(spec->tv_sec, spec->tv_nsec) : -1;
	case LIMIT_TIMEVAL_LEFT:
		return val ? wait_limit_time(val->tv_sec, val->tv_usec * 1000) : -1;
	case LIMIT_NONE:
		break;
	}
	return -1;
}

static void ring_limit_put(long *place, union wait_left *left, struct timespec time)
{
	if (*place != (long)&left->ring.wait &&
	    !memory_copy(&left->ring.wait, (uintptr_t)*place, sizeof(left->ring.wait)))
		return;
	left->ring.time = time;
	left->ring.wait.time = (uintptr_t)&left->ring.time;
	*place = (long)&left->ring.wait;
}

void wait_limit_put(const struct wait_limit *limit, long *call, union wait_left *left, int64_t ns)
{
	struct timespec time;

	ns = ns > 0 ? ns : 0;
	time = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	switch (limit->kind) {
	case LIMIT_NONE:
		return;
	case LIMIT_MILLISECONDS:
		call[limit->at] = (long)((ns + 999999) / 1000000);
		return;
	case LIMIT_RING:
		ring_limit_put(&call[limit->at], left, time);
		return;
	case LIMIT_TIMEVAL_LEFT:
		left->val = (struct timeval){ time.tv_sec, time.tv_nsec / 1000 };
		break;
	case LIMIT_TIMESPEC:
	case LIMIT_TIMESPEC_LEFT:
		left->spec = time;
		break;
	}
	call[limit->at] = (long)left;
}

int wait_limit_rest(const long *call)
{
	if (call[0] == SYS_nanosleep && call[2])
		return 2;
	return call[0] == SYS_clock_nanosleep && !(call[2] & TIMER_ABSTIME) && call[4] ? 4 : 0;
}

bool wait_limit_can_be_written(long place)
{
	struct iovec same = { (void *)place, sizeof(struct timespec) };
	struct timespec copy;
	struct iovec from = { &copy, sizeof(copy) };
	long self = kernel_call4(SYS_gettid, 0, 0, 0, 0), n;

	if (!memory_copy(&copy, (uintptr_t)place, sizeof(copy)))
		return false;
	n = kernel_call6(SYS_process_vm_writev, self, (long)&from, 1, (long)&same, 1, 0);
	return n == sizeof(copy) || n == -EPERM || n == -ENOSYS;
}
