/* Calls that wait or transfer bytes, or that a signal ends otherwise, made by syscall(2) and by libaio. */
#include "preload/interpose/wait_raw.h"

#include <dlfcn.h>
#include <linux/bpf.h>
#include <linux/futex.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "core/clock.h"
#include "core/kernel.h"
#include "core/loaded_symbol.h"
#include "engine/reading/memory_reader.h"
#include "engine/sample/ready_wait.h"
#include "engine/sample/ring_wait.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

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

const uint64_t wait_raw_numbers[] = { NUMBERS(0), NUMBERS(1), NUMBERS(2), NUMBERS(3),
				      NUMBERS(4), NUMBERS(5), NUMBERS(6), NUMBERS(7) };

/* Maximum wait of a call. */
struct limit {
	enum {
		NONE, /* without a limit, or until a time */
		MILLISECONDS,
		TIMESPEC,
		TIMESPEC_LEFT, /* the kernel writes the remaining time to it */
		TIMEVAL_LEFT
	} kind;
	int at;          /* position in the call */
	clockid_t clock; /* clock that measures it */
};

static struct limit limit_find(const long *call)
{
	switch (call[0]) {
#ifdef SYS_poll
	case SYS_poll:
		return (struct limit){ MILLISECONDS, 3, CLOCK_MONOTONIC };
	case SYS_epoll_wait:
		return (struct limit){ MILLISECONDS, 4, CLOCK_MONOTONIC };
	case SYS_select:
		return (struct limit){ TIMEVAL_LEFT, 5, CLOCK_MONOTONIC };
#endif
	case SYS_epoll_pwait:
		return (struct limit){ MILLISECONDS, 4, CLOCK_MONOTONIC };
	case SYS_ppoll:
		return (struct limit){ TIMESPEC_LEFT, 3, CLOCK_MONOTONIC };
	case SYS_pselect6:
		return (struct limit){ TIMESPEC_LEFT, 5, CLOCK_MONOTONIC };
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		return (struct limit){ TIMESPEC, 4, CLOCK_MONOTONIC };
	case SYS_rt_sigtimedwait:
		return (struct limit){ TIMESPEC, 3, CLOCK_MONOTONIC };
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return (struct limit){ TIMESPEC, 5, CLOCK_MONOTONIC };
	case SYS_futex:
		if ((call[2] & FUTEX_CMD_MASK) == FUTEX_WAIT)
			return (struct limit){ TIMESPEC, 4, CLOCK_MONOTONIC };
		break;
	case SYS_nanosleep:
		return (struct limit){ TIMESPEC, 1, CLOCK_MONOTONIC };
	case SYS_clock_nanosleep:
		if (!(call[2] & TIMER_ABSTIME))
			return (struct limit){ TIMESPEC, 3,
					       call[1] == CLOCK_REALTIME ? CLOCK_MONOTONIC
									 : (clockid_t)call[1] };
		break;
	}
	return (struct limit){ NONE, 0, CLOCK_MONOTONIC };
}

static int64_t clock_now_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_read(clock, &now);
	return (int64_t)clock_time_ns(&now);
}

/* Longer limits are shortened to 30 years. */
#define MOST_S 1000000000

static int64_t time_ns(int64_t seconds, int64_t ns)
{
	return (seconds < MOST_S ? seconds : MOST_S) * 1000000000 + ns;
}

/* Return LIMIT in nanoseconds; -1 without one. CALL has waited, so its pointers are valid. */
static int64_t limit_ns(const struct limit *limit, const long *call)
{
	const struct timespec *spec = (const struct timespec *)call[limit->at];
	const struct timeval *val = (const struct timeval *)call[limit->at];

	switch (limit->kind) {
	case MILLISECONDS:
		return (int)call[limit->at] < 0 ? -1 : (int)call[limit->at] * 1000000LL;
	case TIMESPEC:
	case TIMESPEC_LEFT:
		return spec ? time_ns(spec->tv_sec, spec->tv_nsec) : -1;
	case TIMEVAL_LEFT:
		return val ? time_ns(val->tv_sec, val->tv_usec * 1000) : -1;
	case NONE:
		break;
	}
	return -1;
}

/* True if the time at PLACE can be written: otherwise the kernel leaves it unchanged, without an error. */
static bool time_can_be_written(long place)
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

/* Remaining time for the restarted call. */
union left {
	struct timespec spec;
	struct timeval val;
};

static void limit_put(const struct limit *limit, long *call, union left *left, int64_t ns)
{
	ns = ns > 0 ? ns : 0;
	if (limit->kind == MILLISECONDS) {
		call[limit->at] = (long)((ns + 999999) / 1000000);
		return;
	}
	if (limit->kind == TIMEVAL_LEFT)
		left->val = (struct timeval){ (time_t)(ns / 1000000000), ns % 1000000000 / 1000 };
	else
		left->spec =
			(struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	call[limit->at] = (long)left;
}

static long enter_syscall(const long *call)
{
	return REAL(syscall)(call[0], call[1], call[2], call[3], call[4], call[5], call[6]);
}

/* A wait by ENTER, which returns -1 and sets errno. START is when it began. */
struct wait {
	struct restart restart;
	struct limit limit;
	int64_t start;
	transfer_enter *enter;
};

static struct wait wait_begin(const long *call, transfer_enter *enter)
{
	struct limit limit = limit_find(call);

	return (struct wait){ .restart = restart_prepare(),
			      .limit = limit,
			      .start = limit.kind && call[limit.at] ? clock_now_ns(limit.clock) : 0,
			      .enter = enter };
}

/* The first try was interrupted, by a sample or by another signal. Returns the result of the whole call. */
static COLD long wait_again(struct wait *wait, const long *first, uintptr_t frame)
{
	const struct limit *limit = &wait->limit;
	long call[TRANSFER_LONGS], result = -1;
	bool writes_rest = false;
	union left left;
	int64_t time = -1;

	memcpy(call, first, sizeof(call));
	while (result == -1 && errno == EINTR && restart_next(&wait->restart, frame)) {
		if (call[limit->at] == first[limit->at] && limit->kind) {
			time = limit_ns(limit, first);
			writes_rest = time >= 0 && limit->kind >= TIMESPEC_LEFT &&
				      time_can_be_written(first[limit->at]);
			wait->start = writes_rest ? clock_now_ns(limit->clock) : wait->start;
		}
		if (time >= 0)
			limit_put(limit, call, &left,
				  wait->start + time - clock_now_ns(limit->clock));
		result = wait->enter(call);
	}
	if (wait->restart.is_on) {
		restart_end(&wait->restart, result == -1);
		ready_wait_end = ready_wait_end_of(result);
	}
	if (writes_rest)
		memcpy((void *)first[limit->at], &left, sizeof(left));
	return result;
}

/* Return CALL. If it waits for sampling signals, return a copy in STRIPPED without them, with the signals in SET. */
static const long *call_strip(const long *call, long *stripped, uint64_t *set)
{
	uint64_t signals = __atomic_load_n(&sample_signals, __ATOMIC_RELAXED);

	if (call[0] != SYS_rt_sigtimedwait || call[4] != sizeof(*set) || !signals ||
	    !memory_copy(set, (uintptr_t)call[1], sizeof(*set)) || !(*set & signals))
		return call;
	*set &= ~signals;
	memcpy(stripped, call, TRANSFER_LONGS * sizeof(*call));
	stripped[1] = (long)set;
	return stripped;
}

/* Return the position of the argument to which a relative sleep writes the remaining time; 0: none. */
static int rest_position(const long *call)
{
	if (call[0] == SYS_nanosleep && call[2])
		return 2;
	return call[0] == SYS_clock_nanosleep && !(call[2] & TIMER_ABSTIME) && call[4] ? 4 : 0;
}

/* Only the program's signals may change the remaining time: see wait_time.c. */
static long wait_with_rest(struct wait *wait, const long *call, int at)
{
	long own_call[TRANSFER_LONGS], result;
	struct timespec own;

	memcpy(own_call, call, sizeof(own_call));
	own_call[at] = (long)&own;
	result = enter_syscall(own_call);
	if (result == -1 && errno == EINTR)
		result = wait_again(wait, own_call, SAMPLE_FRAME);
	if (result != -1 || errno != EINTR)
		return result;
	if (!time_can_be_written(call[at]))
		errno = EFAULT;
	else
		memcpy((void *)call[at], &own, sizeof(own));
	return -1;
}

/* Return the place of CALL's mask for WITH_MASK(). Nothing is read there: the kernel may refuse the place, and a filter of
 * the program our calls. */
static const void *mask_of(const long *call)
{
	switch (call[0]) {
	case SYS_rt_sigsuspend:
		return (const void *)call[1];
	case SYS_ppoll:
		return (const void *)call[4];
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return (const void *)call[5];
	case SYS_pselect6:
	case SYS_io_pgetevents:
		return (const void *)call[6];
	}
	return NULL;
}

/* The result of CALL by WAIT. */
#define WAIT_RESULT(wait, call)                                            \
	({                                                                 \
		long first_ = (wait)->enter(call);                         \
                                                                           \
		if (__builtin_expect(first_ == -1, 0) && errno == EINTR)   \
			first_ = wait_again((wait), (call), SAMPLE_FRAME); \
		first_;                                                    \
	})

static long wait_call(const long *given)
{
	long stripped[TRANSFER_LONGS];
	uint64_t set;
	const long *call = call_strip(given, stripped, &set);
	struct wait wait = wait_begin(call, enter_syscall);
	int rest = rest_position(call);

	if (rest)
		return wait_with_rest(&wait, call, rest);
	return WITH_MASK(mask_of(call), WAIT_RESULT(&wait, call));
}

/* Most futex calls do not wait. */
static bool is_wait(const long *call)
{
	long operation = call[2] & FUTEX_CMD_MASK;

	return call[0] != SYS_futex || operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
}

static bool is_transfer(long number)
{
	static const uint64_t numbers[] = { TRANSFER_NUMBERS(0), TRANSFER_NUMBERS(1),
					    TRANSFER_NUMBERS(2), TRANSFER_NUMBERS(3),
					    TRANSFER_NUMBERS(4), TRANSFER_NUMBERS(5),
					    TRANSFER_NUMBERS(6), TRANSFER_NUMBERS(7) };

	return numbers[number / 64] >> (number % 64) & 1;
}

/* A signal ends these commands of bpf(2) with EAGAIN or EINTR. They have no part that could be continued. */
static bool is_bpf_run(const long *call)
{
	return call[0] == SYS_bpf && (call[1] == BPF_PROG_LOAD || call[1] == BPF_PROG_TEST_RUN);
}

/* Positions in the call. */
#define FLAGS     (1 + RING_FLAGS)
#define STRUCTURE (1 + RING_STRUCT)

/* A try that fails with EINTR has submitted nothing. */
static long ring_enter_again(const long *given, int64_t start)
{
	long call[TRANSFER_LONGS], flags = given[FLAGS];
	struct timespec left;
	struct ring_wait wait;
	int64_t time;

	memcpy(call, given, sizeof(call));
	if (!(flags & (RING_IS_ABSOLUTE | RING_HAS_INDEX))) {
		wait = *(const struct ring_wait *)given[STRUCTURE]; /* the kernel has read it */
		if (wait.time) {
			left = *(const struct timespec *)(uintptr_t)wait.time;
			time = start + time_ns(left.tv_sec, left.tv_nsec) -
			       clock_now_ns(CLOCK_MONOTONIC);
			time = time > 0 ? time : 0;
			left = (struct timespec){ time / 1000000000, time % 1000000000 };
			wait.time = (uintptr_t)&left;
		}
		call[STRUCTURE] = (long)&wait;
	}
	return enter_syscall(call);
}

static long ring_enter(const long *call)
{
	int64_t start;

	if (!(call[FLAGS] & RING_WAITS))
		return enter_syscall(call);
	if (!(call[FLAGS] & RING_HAS_STRUCT))
		return WITH_MASK((const void *)call[STRUCTURE], RESTART_SAME(enter_syscall(call)));
	start = clock_now_ns(CLOCK_MONOTONIC);
	return RESTART(enter_syscall(call), ring_enter_again(call, start));
}

long wait_raw(const long call[TRANSFER_LONGS])
{
	if (call[0] == SYS_io_uring_enter)
		return ring_enter(call);
	if (call[0] == SYS_bpf)
		return is_bpf_run(call) ? WITHOUT_SAMPLES(enter_syscall(call))
					: enter_syscall(call);
	if (call[0] == SYS_fallocate)
		return RESTART(enter_syscall(call), WITHOUT_SAMPLES(enter_syscall(call)));
	if (is_transfer(call[0]))
		return TRANSFER(enter_syscall(call), enter_syscall, call[0], call[1], call[2],
				call[3], call[4], call[5], call[6]);
	return is_wait(call) ? wait_call(call) : enter_syscall(call);
}

/* libaio's functions return errors, and make their system calls themselves. If the next definition is not visible
 * from here, such as a plugin's, this makes the system call. */
typedef int get_events(void *context, long least, long most, void *events,
		       struct timespec *timeout);
typedef int pget_events(void *context, long least, long most, void *events,
			struct timespec *timeout, sigset_t *mask);

get_events io_getevents;
pget_events io_pgetevents;

static void *function_find(const char *name, void **found)
{
	void *function = __atomic_load_n(found, __ATOMIC_ACQUIRE);

	if (!function) {
		function = loaded_symbol_next(name).address;
		if (!function)
			function = MAP_FAILED; /* permanently: not found */
		__atomic_store_n(found, function, __ATOMIC_RELEASE);
	}
	return function == MAP_FAILED ? NULL : function;
}

static void *get_found, *pget_found;

/* Return RESULT by the C library's convention. */
static long result_to_errno(int result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

static long enter_getevents(const long *call)
{
	get_events *next = (get_events *)function_find("io_getevents", &get_found);

	return next ? result_to_errno(next((void *)call[1], call[2], call[3], (void *)call[4],
					   (struct timespec *)call[5]))
		    : enter_syscall(call);
}

/* Without the C library's function the mask is passed with its size. */
struct mask_argument {
	sigset_t *mask;
	size_t size;
};

static long enter_pgetevents(const long *call)
{
	pget_events *next = (pget_events *)function_find("io_pgetevents", &pget_found);
	const struct mask_argument *argument = (const struct mask_argument *)call[6];

	return next ? result_to_errno(next((void *)call[1], call[2], call[3], (void *)call[4],
					   (struct timespec *)call[5], argument->mask))
		    : enter_syscall(call);
}

/* Preserves errno. */
static inline __attribute__((always_inline)) int events_get(const long *call, const sigset_t *mask,
							    transfer_enter *enter)
{
	struct wait wait = wait_begin(call, enter);
	int saved = errno;
	long result = WITH_MASK(mask, WAIT_RESULT(&wait, call));

	if (result == -1)
		result = -errno;
	errno = saved;
	return (int)result;
}

EXPORT int io_getevents(void *context, long least, long most, void *events,
			struct timespec *timeout)
{
	return events_get((const long[TRANSFER_LONGS]){ SYS_io_getevents, (long)context, least,
							most, (long)events, (long)timeout },
			  NULL, enter_getevents);
}

EXPORT int io_pgetevents(void *context, long least, long most, void *events,
			 struct timespec *timeout, sigset_t *mask)
{
	struct mask_argument argument = { .mask = mask, .size = sizeof(uint64_t) };
	sigset_t copy;

	if (mask_strip(mask, &copy) == &copy)
		argument.mask = &copy;
	return events_get((const long[TRANSFER_LONGS]){ SYS_io_pgetevents, (long)context, least,
							most, (long)events, (long)timeout,
							(long)&argument },
			  argument.mask, enter_pgetevents);
}
