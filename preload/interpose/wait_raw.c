/* Calls that wait or transfer bytes, or that a signal ends otherwise, made by syscall(2) and by libaio. */
#include "preload/interpose/wait_raw.h"

#include <linux/bpf.h>
#include <linux/futex.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "core/kernel.h"
#include "core/loaded_symbol.h"
#include "engine/reading/memory_reader.h"
#include "engine/sample/ready_wait.h"
#include "engine/sample/ring_wait.h"
#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"
#include "preload/interpose/wait_limit.h"

static long enter_syscall(const long *call)
{
	return REAL(syscall)(call[0], call[1], call[2], call[3], call[4], call[5], call[6]);
}

/* A wait by ENTER, which returns -1 and sets errno. START is when it began. */
struct wait {
	struct restart restart;
	struct wait_limit limit;
	int64_t start;
	transfer_enter *enter;
	uintptr_t outer; /* of interposed_begin() */
};

static struct wait wait_begin(const long *call, transfer_enter *enter, uintptr_t frame)
{
	struct wait_limit limit = wait_limit_of(call);

	return (struct wait){ .restart = restart_prepare(),
			      .limit = limit,
			      .start = limit.kind && call[limit.at] ? wait_limit_now(limit.clock)
								    : 0,
			      .enter = enter,
			      .outer = interposed_begin(frame) };
}

/* The first try was interrupted, by a sample or by another signal. Returns the result of the whole call. */
static COLD long wait_again(struct wait *wait, const long *first, uintptr_t frame)
{
	const struct wait_limit *limit = &wait->limit;
	long call[TRANSFER_LONGS], result = -1;
	bool writes_rest = false;
	union wait_left left;
	int64_t time = -1;

	memcpy(call, first, sizeof(call));
	while (result == -1 && errno == EINTR && restart_next(&wait->restart, frame)) {
		if (call[limit->at] == first[limit->at] && limit->kind) {
			time = wait_limit_ns(limit, first);
			writes_rest = time >= 0 && limit->kind >= LIMIT_TIMESPEC_LEFT &&
				      wait_limit_can_be_written(first[limit->at]);
			wait->start = writes_rest ? wait_limit_now(limit->clock) : wait->start;
		}
		if (time >= 0)
			wait_limit_put(limit, call, &left,
				       wait->start + time - wait_limit_now(limit->clock));
		result = wait->enter(call);
	}
	if (wait->restart.is_on) {
		restart_end(&wait->restart, result == -1);
		ready_wait_end = ready_wait_end_of(result);
	}
	_Static_assert(sizeof(left.spec) == sizeof(left.val), "one size");
	if (writes_rest)
		memcpy((void *)first[limit->at], &left, sizeof(left.spec));
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
	if (!wait_limit_can_be_written(call[at]))
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
	struct wait wait = wait_begin(call, enter_syscall, SAMPLE_FRAME);
	int rest = wait_limit_rest(call);
	long result = rest ? wait_with_rest(&wait, call, rest)
			   : WITH_MASK(mask_of(call), WAIT_RESULT(&wait, call));

	interposed_end(wait.outer);
	return result;
}

/* Most futex calls do not wait. */
static bool is_wait(const long *call)
{
	long operation = call[2] & FUTEX_CMD_MASK;

	return call[0] != SYS_futex || operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
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
static long ring_enter(const long *call)
{
	if (!(call[FLAGS] & RING_WAITS))
		return enter_syscall(call);
	if (call[FLAGS] & RING_HAS_STRUCT)
		return wait_call(call);
	return WITH_MASK((const void *)call[STRUCTURE], RESTART_SAME(enter_syscall(call)));
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
	if (transfer_includes(call[0]))
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
	struct wait wait = wait_begin(call, enter, SAMPLE_FRAME);
	int saved = errno;
	long result = WITH_MASK(mask, WAIT_RESULT(&wait, call));

	interposed_end(wait.outer);
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
