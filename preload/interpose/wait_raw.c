/* Calls that wait, made by syscall(2), and by libaio. */
#include "preload/interpose/wait_raw.h"

#include <dlfcn.h>
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
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define NUMBER(word, number) ((number) / 64 == (word) ? UINT64_C(1) << ((number) % 64) : 0)

/* Not on every processor. */
#ifdef SYS_poll
#define OLD_NUMBERS(word)                                                                   \
	(NUMBER(word, SYS_poll) | NUMBER(word, SYS_select) | NUMBER(word, SYS_epoll_wait) | \
	 NUMBER(word, SYS_pause))
#else
#define OLD_NUMBERS(word) 0
#endif

#define NUMBERS(word)                                                            \
	(OLD_NUMBERS(word) | NUMBER(word, SYS_futex) | NUMBER(word, SYS_ppoll) | \
	 NUMBER(word, SYS_pselect6) | NUMBER(word, SYS_epoll_pwait) |            \
	 NUMBER(word, SYS_epoll_pwait2) | NUMBER(word, SYS_nanosleep) |          \
	 NUMBER(word, SYS_clock_nanosleep) | NUMBER(word, SYS_rt_sigtimedwait) | \
	 NUMBER(word, SYS_rt_sigsuspend) | NUMBER(word, SYS_io_getevents) |      \
	 NUMBER(word, SYS_io_pgetevents) | NUMBER(word, SYS_semop) |             \
	 NUMBER(word, SYS_semtimedop) | NUMBER(word, SYS_msgrcv) | NUMBER(word, SYS_msgsnd))

const uint64_t wait_raw_numbers[] = { NUMBERS(0), NUMBERS(1), NUMBERS(2), NUMBERS(3),
				      NUMBERS(4), NUMBERS(5), NUMBERS(6), NUMBERS(7) };

/* For how long a call waits at most. */
struct limit {
	enum {
		NONE, /* for ever, or until a time */
		MILLISECONDS,
		TIMESPEC,
		TIMESPEC_REST, /* over which the kernel writes what is left when it is interrupted */
		TIMESPEC_LEFT, /* and when it is not, too */
		TIMEVAL_LEFT
	} kind;
	int at;          /* its place in the call */
	clockid_t clock; /* that measures it */
};

static struct limit limit_of_sleep(const long *call, int at, clockid_t clock)
{
	return (struct limit){ call[at] == call[at + 1] ? TIMESPEC_REST : TIMESPEC, at, clock };
}

static struct limit limit_of(const long *call)
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
		return limit_of_sleep(call, 1, CLOCK_MONOTONIC);
	case SYS_clock_nanosleep:
		if (!(call[2] & TIMER_ABSTIME))
			return limit_of_sleep(call, 3,
					      call[1] == CLOCK_REALTIME ? CLOCK_MONOTONIC
									: (clockid_t)call[1]);
		break;
	}
	return (struct limit){ NONE, 0, CLOCK_MONOTONIC };
}

static int64_t clock_now_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_read(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Centuries are as good as for ever. */
#define MOST_S 1000000000

static int64_t ns_of(int64_t seconds, int64_t ns)
{
	return (seconds < MOST_S ? seconds : MOST_S) * 1000000000 + ns;
}

/* LIMIT's time, in nanoseconds, of a call that has waited, so that it is there and valid; -1 for
 * none. */
static int64_t time_of(const struct limit *limit, const long *call)
{
	const struct timespec *spec = (const struct timespec *)call[limit->at];
	const struct timeval *val = (const struct timeval *)call[limit->at];

	switch (limit->kind) {
	case MILLISECONDS:
		return (int)call[limit->at] < 0 ? -1 : (int)call[limit->at] * 1000000LL;
	case TIMESPEC:
	case TIMESPEC_REST:
	case TIMESPEC_LEFT:
		return spec ? ns_of(spec->tv_sec, spec->tv_nsec) : -1;
	case TIMEVAL_LEFT:
		return val ? ns_of(val->tv_sec, val->tv_usec * 1000) : -1;
	case NONE:
		break;
	}
	return -1;
}

/* Where nothing can be written the kernel leaves the time as it was, and says nothing. */
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

/* What is left of it, for the call made again. */
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

/* The call FIRST has been interrupted by a sample alone; it began at START. */
static COLD long wait_again(unsigned long handled, const long *first, const struct limit *limit,
			    int64_t start)
{
	int64_t time = time_of(limit, first);
	bool told =
		time >= 0 && limit->kind >= TIMESPEC_REST && time_can_be_written(first[limit->at]);
	long call[TRANSFER_LONGS], result;
	union left left;

	memcpy(call, first, sizeof(call));
	if (told)
		start = clock_now_ns(limit->clock);
	do {
		if (time >= 0)
			limit_put(limit, call, &left, start + time - clock_now_ns(limit->clock));
		result = again_call(handled, call, false);
	} while (result == AGAIN_SAMPLED);
	if (told && limit->kind >= TIMESPEC_LEFT)
		memcpy((void *)first[limit->at], &left, sizeof(left));
	return result;
}

/* CALL, in STRIPPED where it waits for signals that take samples: those are nothing to wait for. */
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

static long wait_first(const long *given)
{
	unsigned long handled = sample_begin();
	long stripped[TRANSFER_LONGS];
	uint64_t set;
	const long *call = call_strip(given, stripped, &set);
	struct limit limit = limit_of(call);
	int64_t start = limit.kind && call[limit.at] ? clock_now_ns(limit.clock) : 0;
	long result = kernel_call6(call[0], call[1], call[2], call[3], call[4], call[5], call[6]);

	if (__builtin_expect(result == -EINTR, 0) && sample_ended_it(SAMPLE_FRAME))
		result = wait_again(handled, call, &limit, start);
	return result;
}

/* Most futex calls wait for nothing. */
static bool is_wait(const long *call)
{
	long operation = call[2] & FUTEX_CMD_MASK;

	return call[0] != SYS_futex || operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
}

long wait_raw(const long call[TRANSFER_LONGS])
{
	if (is_wait(call))
		return wait_first(call);
	return kernel_call6(call[0], call[1], call[2], call[3], call[4], call[5], call[6]);
}

/* libaio's functions return errors, and make their system calls themselves. Where the library is not
 * in sight of ours, as that of a plugin, the system call stands for it. */
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
			function = MAP_FAILED; /* not there, for good */
		__atomic_store_n(found, function, __ATOMIC_RELEASE);
	}
	return function == MAP_FAILED ? NULL : function;
}

EXPORT int io_getevents(void *context, long least, long most, void *events,
			struct timespec *timeout)
{
	static void *found;
	get_events *real_one = (get_events *)function_find("io_getevents", &found);
	const long call[TRANSFER_LONGS] = { SYS_io_getevents, (long)context, least, most,
					    (long)events,     (long)timeout };
	struct limit limit = limit_of(call);
	unsigned long handled = sample_begin();
	int64_t start;
	int result;

	if (!real_one)
		return (int)wait_raw(call);
	start = timeout ? clock_now_ns(limit.clock) : 0;
	result = real_one(context, least, most, events, timeout);
	if (__builtin_expect(result == -EINTR, 0) && sample_ended_it(SAMPLE_FRAME))
		result = (int)wait_again(handled, call, &limit, start);
	return result;
}

EXPORT int io_pgetevents(void *context, long least, long most, void *events,
			 struct timespec *timeout, sigset_t *mask)
{
	static void *found;
	pget_events *real_one = (pget_events *)function_find("io_pgetevents", &found);
	struct {
		const sigset_t *mask;
		size_t size;
	} argument = { .size = sizeof(uint64_t) };
	const long call[TRANSFER_LONGS] = { SYS_io_pgetevents, (long)context, least,          most,
					    (long)events,      (long)timeout, (long)&argument };
	struct limit limit = limit_of(call);
	unsigned long handled = sample_begin();
	sigset_t copy, *stripped;
	int64_t start;
	int result;

	argument.mask = mask_strip(mask, &copy);
	stripped = argument.mask == mask ? mask : &copy;
	if (!real_one)
		return (int)wait_raw(call);
	start = timeout ? clock_now_ns(limit.clock) : 0;
	result = real_one(context, least, most, events, timeout, stripped);
	if (__builtin_expect(result == -EINTR, 0) && sample_ended_it(SAMPLE_FRAME))
		result = (int)wait_again(handled, call, &limit, start);
	return result;
}
