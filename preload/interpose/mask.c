/* Interposes the functions that block signals or wait for them. Sampling signals are removed from the sets, and
 * added again where the program reads them. */
#include "preload/interpose/mask.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "core/system.h"
#include "engine/reading/memory_reader.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/sample.h"
#include "preload/interpose/wait.h"

/* On Linux the kernel's 64 signals come first in sigset_t. */
_Static_assert(sizeof(sigset_t) >= sizeof(uint64_t), "no room for 64 signals");

static __thread uint64_t program_blocked;

uint64_t mask_program_blocked(void)
{
	return program_blocked;
}

void mask_set_program_blocked(uint64_t signals)
{
	program_blocked = signals;
}

/* Return those of SIGNALS that are in SET. */
static uint64_t set_signals_of(const sigset_t *set, const uint64_t *signals)
{
	uint64_t word, those = __atomic_load_n(signals, __ATOMIC_RELAXED);

	if (!those || !set)
		return 0;
	memcpy(&word, set, sizeof(word));
	return word & those;
}

static void set_flip(sigset_t *set, uint64_t signals)
{
	uint64_t word;

	memcpy(&word, set, sizeof(word));
	word ^= signals;
	memcpy(set, &word, sizeof(word));
}

static void signals_hold(uint64_t signals)
{
	for (; signals; signals &= signals - 1)
		sample_hold(__builtin_ctzll(signals) + 1);
}

/* The system refuses a set that cannot be read. */
static bool set_is_unreadable(const sigset_t *set)
{
	return set && __atomic_load_n(&sample_signals, __ATOMIC_RELAXED) &&
	       !memory_probe((uintptr_t)set);
}

/* Most programs that wait for sampling signals wait for all signals. One that names so few uses them. */
#define FEW_SIGNALS 8

static void claim_if_few(const sigset_t *set)
{
	uint64_t named, all, blocked;

	if (set_is_unreadable(set))
		return;
	named = set_signals_of(set, &sample_signals);
	if (!named)
		return;
	memcpy(&all, set, sizeof(all));
	if (__builtin_popcountll(all) > FEW_SIGNALS)
		return;
	blocked = named & program_blocked;
	for (; named; named &= named - 1)
		sample_release(__builtin_ctzll(named) + 1);
	/* The kernel ends the process by a signal with the default action, unless the waiting thread blocks it. */
	kernel_call4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&blocked, 0, sizeof(blocked));
}

static const sigset_t *set_strip(const sigset_t *set, sigset_t *copy)
{
	uint64_t signals = set_signals_of(set, &sample_signals);

	if (!signals)
		return set;
	*copy = *set;
	set_flip(copy, signals);
	return copy;
}

const sigset_t *mask_strip(const sigset_t *set, sigset_t *copy)
{
	return set_is_unreadable(set) ? set : set_strip(set, copy);
}

COLD bool mask_block_samples(uint64_t *before)
{
	uint64_t signals = __atomic_load_n(&sample_signals, __ATOMIC_RELAXED);

	return signals && !kernel_call4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&signals, (long)before,
					sizeof(signals));
}

COLD void mask_restore(const uint64_t *before)
{
	kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)before, 0, sizeof(*before));
}

/* Return the sampling signals that the program has blocked, after a change HOW with the sampling signals in NAMED. */
static uint64_t blocked_after(int how, uint64_t named)
{
	switch (how) {
	case SIG_BLOCK:
		return program_blocked | named;
	case SIG_UNBLOCK:
		return program_blocked & ~named;
	default:
		return named;
	}
}

static int mask_change(int (*change)(int, const sigset_t *, sigset_t *), int how,
		       const sigset_t *set, sigset_t *old, const void *caller)
{
	uint64_t before = program_blocked, named = set_signals_of(set, &sample_ever), after;
	sigset_t copy;
	int result;

	if (is_agent_code(caller)) /* its threads are not sampled */
		return change(how, set, old);
	if (how != SIG_UNBLOCK)
		signals_hold(named & ~before);
	/* Unblocking is not changed: the mask may be older than the sampling. (The C library reads the set, too.) */
	result = change(how, how == SIG_UNBLOCK ? set : set_strip(set, &copy), old);
	if (result)
		return result;
	after = set ? blocked_after(how, named) : program_blocked;
	if (after != program_blocked && !exit_is_vfork_child())
		program_blocked = after;
	if (old)
		set_flip(old, before & ~set_signals_of(old, &sample_ever));
	return 0;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return mask_change(REAL(pthread_sigmask), how, set, old, __builtin_return_address(0));
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return mask_change(REAL(sigprocmask), how, set, old, __builtin_return_address(0));
}

EXPORT int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *set)
{
	sigset_t copy;

	return REAL(pthread_attr_setsigmask_np)(attr, mask_strip(set, &copy));
}

/* Small descriptors that signalfd(2) has returned. */
static uint64_t descriptors[1024 / 64];
bool mask_checks_reads;

static bool fd_is_small(int fd)
{
	return fd >= 0 && (size_t)fd < 8 * sizeof(descriptors);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t copy;
	int result;

	claim_if_few(set);
	result = REAL(signalfd)(fd, mask_strip(set, &copy), flags);

	if (fd_is_small(result) && system_process() == 1) {
		__atomic_fetch_or(&descriptors[result / 64], UINT64_C(1) << result % 64,
				  __ATOMIC_RELAXED);
		mask_checks_reads = true;
	}
	return result;
}

/* (If the number is another file's now, at most the wrong data is ignored.) */
void mask_check_read(int fd, const void *data, ssize_t done)
{
	const struct signalfd_siginfo *infos = data;

	if (!fd_is_small(fd) || !(descriptors[fd / 64] >> fd % 64 & 1) || done <= 0 ||
	    (size_t)done % sizeof(*infos))
		return;
	for (size_t i = 0; i < (size_t)done / sizeof(*infos); i++)
		if (infos[i].ssi_signo <= 64)
			fatal_note_handled((int)infos[i].ssi_signo);
}

EXPORT int sigsuspend(const sigset_t *set)
{
	sigset_t copy;

	set = mask_strip(set, &copy);
	return WITH_MASK(set, RESTART_SAME(REAL(sigsuspend)(set)));
}

EXPORT int __xpg_sigpause(int signo)
{
	return RESTART_SAME(REAL(__xpg_sigpause)(signo));
}

/* By that name, the argument is a signal in musl, and in glibc the mask of the signals up to 32. */
EXPORT int any_sigpause(int argument) __asm__("sigpause");

EXPORT int any_sigpause(int argument)
{
	sigset_t set = { 0 };

	if (!gnu_get_libc_version)
		return RESTART_SAME(REAL(sigpause)(argument));
	memcpy(&set, &argument, sizeof(argument));
	return sigsuspend(&set);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	sigset_t copy;
	int signo;

	claim_if_few(set);
	/* After a signal that was sent to the program the set may be another one. */
	signo = RESTART_SAME(REAL(sigwaitinfo)(mask_strip(set, &copy), info));
	fatal_note_handled(signo);
	return signo;
}

/* The C library's own function would wait on for the same set. */
EXPORT int sigwait(const sigset_t *set, int *signo)
{
	int saved = errno, found;

	do
		found = sigwaitinfo(set, NULL);
	while (found < 0 && errno == EINTR);
	if (found < 0)
		return errno;
	errno = saved;
	*signo = found;
	return 0;
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	int64_t start = wait_start(timeout);
	struct timespec left;
	sigset_t copy;
	int signo;

	claim_if_few(set);
	if (!gnu_get_libc_version &&
	    timeout) /* musl's function repeats an interrupted wait, with the whole time */
		signo = WITHOUT_SAMPLES(REAL(sigtimedwait)(mask_strip(set, &copy), info, timeout));
	else
		signo = RESTART(REAL(sigtimedwait)(mask_strip(set, &copy), info, timeout),
				REAL(sigtimedwait)(mask_strip(set, &copy), info,
						   wait_left(start, timeout, &left)));
	fatal_note_handled(signo);
	return signo;
}
