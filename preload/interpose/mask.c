/* Interposes the functions that block signals or wait for them: those that take samples are
 * taken out of the sets on the way in, and put back on the way out. */
#include "preload/interpose/mask.h"

#include <string.h>
#include <sys/signalfd.h>

#include "core/system.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"
#include "preload/interpose/wait.h"

/* On Linux, whatever sigset_t holds beyond, the kernel's 64 signals come first. */
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

static uint64_t set_sampling_signals(const sigset_t *set)
{
	uint64_t signals = __atomic_load_n(&sample_signals, __ATOMIC_RELAXED), word;

	if (!signals || !set)
		return 0;
	memcpy(&word, set, sizeof(word));
	return word & signals;
}

static void set_flip(sigset_t *set, uint64_t signals)
{
	uint64_t word;

	memcpy(&word, set, sizeof(word));
	word ^= signals;
	memcpy(set, &word, sizeof(word));
}

const sigset_t *mask_strip(const sigset_t *set, sigset_t *copy)
{
	uint64_t signals = set_sampling_signals(set);

	if (!signals)
		return set;
	*copy = *set;
	set_flip(copy, signals);
	return copy;
}

/* What the thread believes after it asked for HOW with the sampling signals in NAMED. */
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
	uint64_t before = program_blocked, named = set_sampling_signals(set);
	sigset_t copy;
	int result;

	if (is_agent_code(caller)) /* whose threads are not sampled */
		return change(how, set, old);
	/* Unblocking is left as it is: the mask may be older than the sampling. */
	result = change(how, how == SIG_UNBLOCK ? set : mask_strip(set, &copy), old);
	if (result)
		return result;
	if (set)
		program_blocked = blocked_after(how, named);
	if (old)
		set_flip(old, before & ~set_sampling_signals(old));
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

/* Those that signalfd(2) has returned, as far as they are so small. */
static uint64_t descriptors[1024 / 64];
bool mask_checks_reads;

static bool fd_is_small(int fd)
{
	return fd >= 0 && (size_t)fd < 8 * sizeof(descriptors);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t copy;
	int result = REAL(signalfd)(fd, mask_strip(set, &copy), flags);

	if (fd_is_small(result) && system_process() == 1) {
		__atomic_fetch_or(&descriptors[result / 64], UINT64_C(1) << result % 64,
				  __ATOMIC_RELAXED);
		mask_checks_reads = true;
	}
	return result;
}

/* (One that has become another file's tells at most of what is none.) */
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
	return CALL_AGAIN(REAL(sigsuspend)(set), SYS_rt_sigsuspend, (long)set, sizeof(uint64_t));
}

EXPORT int sigwait(const sigset_t *set, int *signo)
{
	sigset_t copy;
	int err = REAL(sigwait)(mask_strip(set, &copy), signo);

	if (!err)
		fatal_note_handled(*signo);
	return err;
}

/* As the C library shows what a thread has sent. */
static int show_taken(int signo, siginfo_t *info)
{
	fatal_note_handled(signo);
	if (signo != -1 && info && info->si_code == SI_TKILL)
		info->si_code = SI_USER;
	return signo;
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	sigset_t copy;

	set = mask_strip(set, &copy);
	return show_taken(CALL_AGAIN(REAL(sigwaitinfo)(set, info), SYS_rt_sigtimedwait, (long)set,
				     (long)info, (long)NULL, sizeof(uint64_t)),
			  info);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	uint64_t end = wait_start(timeout);
	struct timespec left;
	sigset_t copy;

	set = mask_strip(set, &copy);
	return show_taken(CALL_AGAIN(REAL(sigtimedwait)(set, info, timeout), SYS_rt_sigtimedwait,
				     (long)set, (long)info, (long)wait_left_in(end, timeout, &left),
				     sizeof(uint64_t)),
			  info);
}
