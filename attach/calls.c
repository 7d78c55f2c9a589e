/* Continues system calls that a sample has interrupted. */
#include "attach/calls.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch/attached.h"
#include "arch/code.h"
#include "arch/remote.h"
#include "core/disposition.h"
#include "core/kernel.h"
#include "engine/reading/memory_reader.h"
#include "engine/sample/ring_wait.h"
#include "engine/sample/thread_slots.h"

#define MASK_BYTES  8
#define ALL_SIGNALS (~UINT64_C(0))

/* How a call has a signal mask, which the kernel sets while it waits, so that no signal of the program comes in between. */
enum mask_kind {
	MASK_NONE,     /* it has none: it is made under the program's mask */
	MASK_ARGUMENT, /* an argument is its address; NULL: the program's mask */
	MASK_PAIR,     /* an argument is the address of its address and its size */
	MASK_RING,     /* as io_uring_enter(2) has it: by a flag, its address is in a structure */
};

/* Calls that the kernel ends with EINTR after a handler: of sockets, if they have a time limit; of files, in some file systems;
 * of devices. */
static const struct {
	short number, by; /* the call, and the one that is made */
	unsigned char mask_kind, mask;
} endings[] = {
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, SYS_epoll_pwait, MASK_ARGUMENT, 4 },
#endif
#ifdef SYS_pause
	{ SYS_pause, SYS_rt_sigsuspend, MASK_ARGUMENT, 0 },
#endif
#ifdef SYS_select
	{ SYS_select, SYS_select, MASK_NONE, 0 },
#endif
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, SYS_epoll_pwait2, MASK_ARGUMENT, 4 },
#endif
	{ SYS_epoll_pwait, SYS_epoll_pwait, MASK_ARGUMENT, 4 },
	{ SYS_ppoll, SYS_ppoll, MASK_ARGUMENT, 3 },
	{ SYS_rt_sigsuspend, SYS_rt_sigsuspend, MASK_ARGUMENT, 0 },
	{ SYS_pselect6, SYS_pselect6, MASK_PAIR, 5 },
	{ SYS_rt_sigtimedwait, SYS_rt_sigtimedwait, MASK_NONE, 0 },
	{ SYS_clock_nanosleep, SYS_clock_nanosleep, MASK_NONE, 0 },
	{ SYS_semop, SYS_semop, MASK_NONE, 0 },
	{ SYS_semtimedop, SYS_semtimedop, MASK_NONE, 0 },
	{ SYS_msgrcv, SYS_msgrcv, MASK_NONE, 0 },
	{ SYS_msgsnd, SYS_msgsnd, MASK_NONE, 0 },
	{ SYS_io_getevents, SYS_io_getevents, MASK_NONE, 0 },
	{ SYS_io_pgetevents, SYS_io_pgetevents, MASK_PAIR, 5 },
	{ SYS_io_uring_enter, SYS_io_uring_enter, MASK_RING, RING_STRUCT },
	{ SYS_accept, SYS_accept, MASK_NONE, 0 },
	{ SYS_accept4, SYS_accept4, MASK_NONE, 0 },
	{ SYS_connect, SYS_connect, MASK_NONE, 0 },
	{ SYS_read, SYS_read, MASK_NONE, 0 },
	{ SYS_readv, SYS_readv, MASK_NONE, 0 },
	{ SYS_recvfrom, SYS_recvfrom, MASK_NONE, 0 },
	{ SYS_recvmsg, SYS_recvmsg, MASK_NONE, 0 },
	{ SYS_recvmmsg, SYS_recvmmsg, MASK_NONE, 0 },
	{ SYS_write, SYS_write, MASK_NONE, 0 },
	{ SYS_writev, SYS_writev, MASK_NONE, 0 },
	{ SYS_sendto, SYS_sendto, MASK_NONE, 0 },
	{ SYS_sendmsg, SYS_sendmsg, MASK_NONE, 0 },
	{ SYS_sendmmsg, SYS_sendmmsg, MASK_NONE, 0 },
	{ SYS_splice, SYS_splice, MASK_NONE, 0 },
	{ SYS_sendfile, SYS_sendfile, MASK_NONE, 0 },
	{ SYS_fallocate, SYS_fallocate, MASK_NONE, 0 },
	{ SYS_pread64, SYS_pread64, MASK_NONE, 0 },
	{ SYS_preadv, SYS_preadv, MASK_NONE, 0 },
	{ SYS_preadv2, SYS_preadv2, MASK_NONE, 0 },
	{ SYS_pwrite64, SYS_pwrite64, MASK_NONE, 0 },
	{ SYS_pwritev, SYS_pwritev, MASK_NONE, 0 },
	{ SYS_pwritev2, SYS_pwritev2, MASK_NONE, 0 },
	{ SYS_copy_file_range, SYS_copy_file_range, MASK_NONE, 0 },
	{ SYS_getrandom, SYS_getrandom, MASK_NONE, 0 },
	{ SYS_ioctl, SYS_ioctl, MASK_NONE, 0 },
};

#define ENDINGS (sizeof(endings) / sizeof(*endings))

bool call_was_ended(const ucontext_t *context)
{
	return (long)CONTEXT_RESULT(context) == -EINTR && arch_call_has_just_ended(context) &&
	       memory_is_system_call((uintptr_t)CONTEXT_PC(context) - ARCH_SYSTEM_CALL_BYTES);
}

/* The thread was seen in exactly CALL, which has no number yet: at this place, with these arguments. */
static bool call_was_seen(const struct thread *thread, struct thread_call *call)
{
	struct thread_call seen;

	if (!thread || !thread_call_read(&thread->call, &seen) || seen.pc != call->pc ||
	    seen.sp != call->sp || memcmp(seen.arguments, call->arguments, sizeof(seen.arguments)))
		return false;
	call->number = seen.number;
	return true;
}

static bool call_identify(const struct thread *thread, const ucontext_t *context,
			  struct thread_call *call)
{
	*call = (struct thread_call){ .pc = (uintptr_t)CONTEXT_PC(context),
				      .sp = (uintptr_t)CONTEXT_SP(context) };
	arch_call_arguments(context, call->arguments);
	call->number = arch_call_number(context, memory_copy);
	return call->number >= 0 || call_was_seen(thread, call);
}

/* An absolute time. The kernel continues the call with a relative one. */
static bool call_is_absolute_sleep(const struct thread_call *call)
{
	return call->number == SYS_clock_nanosleep && call->arguments[1] & TIMER_ABSTIME;
}

static size_t ending_find(const struct thread_call *call)
{
	size_t i = 0;

	while (i < ENDINGS && endings[i].number != call->number)
		i++;
	return call->number != SYS_clock_nanosleep || call_is_absolute_sleep(call) ? i : ENDINGS;
}

/* From then on the kernel has the time that remains. After other calls, it may still have an earlier one's. */
static bool kernel_keeps(const struct thread_call *call)
{
	switch (call->number) {
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_futex:
	case SYS_restart_syscall:
		return true;
	default:
		return false;
	}
}

static void mask_set(uint64_t mask)
{
	kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, MASK_BYTES);
}

/* As the kernel reads the last argument of pselect6(2). */
struct mask_pair {
	uintptr_t mask, bytes;
};

static enum mask_kind mask_kind_of(size_t ending, const struct thread_call *call)
{
	bool is_plain = endings[ending].mask_kind == MASK_RING &&
			!(call->arguments[RING_FLAGS] & RING_HAS_STRUCT);

	return is_plain ? MASK_ARGUMENT : endings[ending].mask_kind;
}

/* Get the mask of CALL into *MASK, which has the program's mask. False if it cannot be read. */
static bool mask_get(size_t ending, const struct thread_call *call, uint64_t *mask)
{
	uintptr_t address = call->arguments[endings[ending].mask];
	enum mask_kind kind = mask_kind_of(ending, call);
	struct mask_pair pair;
	struct ring_wait wait;

	if (kind == MASK_NONE || endings[ending].by != call->number || !address)
		return true;
	if (kind == MASK_RING) {
		if (call->arguments[RING_FLAGS] & RING_HAS_INDEX ||
		    !memory_copy(&wait, address, sizeof(wait)))
			return false;
		address = (uintptr_t)wait.mask;
	}
	if (kind == MASK_PAIR) {
		if (!memory_copy(&pair, address, sizeof(pair)))
			return false;
		address = pair.mask;
	}
	return !address || memory_copy(mask, address, MASK_BYTES);
}

static long call_by_number(long number, const uintptr_t arguments[THREAD_CALL_ARGUMENTS])
{
	return kernel_call6(number, (long)arguments[0], (long)arguments[1], (long)arguments[2],
			    (long)arguments[3], (long)arguments[4], (long)arguments[5]);
}

static long call_make_again(size_t ending, struct thread_call *call, uint64_t mask)
{
	struct mask_pair pair = { (uintptr_t)&mask, MASK_BYTES };
	enum mask_kind kind = mask_kind_of(ending, call);
	unsigned at = endings[ending].mask;
	struct ring_wait wait;
	long result;

	if (kind == MASK_PAIR) {
		call->arguments[at] = (uintptr_t)&pair;
	} else if (kind == MASK_RING) {
		if (!memory_copy(&wait, call->arguments[at], sizeof(wait)))
			return -EINTR;
		wait.mask = (uintptr_t)&mask;
		wait.mask_bytes = MASK_BYTES;
		call->arguments[at] = (uintptr_t)&wait;
	} else if (kind == MASK_ARGUMENT) {
		call->arguments[at] = (uintptr_t)&mask;
		call->arguments[at + 1] = MASK_BYTES;
	} else {
		mask_set(mask);
	}
	result = call_by_number(endings[ending].by, call->arguments);
	mask_set(ALL_SIGNALS);
	return result;
}

/* The kernel knows the call until a handler returns. */
static long call_make_kernel_continue(uint64_t mask)
{
	long result;

	mask_set(mask);
	result = kernel_call4(SYS_restart_syscall, 0, 0, 0, 0);
	mask_set(ALL_SIGNALS);
	return result;
}

void call_continue(const struct thread *thread, ucontext_t *context, int signo)
{
	struct thread_call call;
	size_t ending = ENDINGS;
	bool is_known;
	uint64_t mask;
	long result;

	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	is_known = call_identify(thread, context, &call);
	if (is_known)
		ending = ending_find(&call);
	if (is_known && ending == ENDINGS && !kernel_keeps(&call))
		return;
	if (ending < ENDINGS && !mask_get(ending, &call, &mask))
		return;
	mask |= disposition_bit(signo);
	result = ending < ENDINGS ? call_make_again(ending, &call, mask)
				  : call_make_kernel_continue(mask);
	if (result == REMOTE_CALL_ENDED && is_known) {
		arch_make_call(context, call.number);
		return;
	}
	if (result == REMOTE_CALL_ENDED)
		result = -EINTR;
	CONTEXT_RESULT(context) = (__typeof__(CONTEXT_RESULT(context)))result;
	if (result == -EINTR)
		arch_mark_call(context);
}
