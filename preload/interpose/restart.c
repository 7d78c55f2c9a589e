/* Restarts of interrupted calls. */
#include "preload/interpose/restart.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/kernel.h"
#include "core/system.h"

/* The timer's first signal is after the handler that created it has probably returned; later ones follow until the
 * call ends. If the handler left the call by siglongjmp(3), the timer deletes itself after the last one. */
#define TIMER_FIRST_NS 100000
#define TIMER_NEXT_NS  10000000
#define TIMER_MOST     100

static __thread struct {
	uintptr_t frame; /* frame of the innermost restarted call; 0: none */
	int timer;       /* valid while SHOTS is not 0 */
	unsigned shots;  /* remaining signals of the timer */
} current;

__thread uintptr_t interposed_frame;
__thread unsigned long program_handled;
__thread struct sample_note sample_note;
__thread struct masked_wait masked_wait;

/* Number of timers in this process; signals that no timer may use. */
static _Atomic unsigned timers;
static _Atomic uint64_t spared;

/* Its address identifies signals of our timers. */
static const char timer_mark;

bool restart_next(struct restart *restart, uintptr_t frame)
{
	if (!restart_may_follow(restart, frame))
		return false;
	if (!restart->is_on) {
		/* (A frame that is not higher was left by siglongjmp.) */
		restart->outer = current.frame > frame ? current.frame : 0;
		restart->is_on = true;
		current.frame = frame;
	}
	restart->notes = sample_note.count;
	restart->dropped = dropped_signals_count();
	atomic_signal_fence(
		memory_order_seq_cst); /* a handler that is not counted here sees the frame */
	return program_handled == restart->handled;
}

/* In the thread itself, or in a handler that interrupts it here. */
static void restart_delete_timer(void)
{
	if (!__atomic_exchange_n(&current.shots, 0, __ATOMIC_SEQ_CST))
		return;
	kernel_call4(SYS_timer_delete, current.timer, 0, 0, 0);
	atomic_fetch_sub(&timers, 1);
}

void restart_end(struct restart *restart, bool failed)
{
	current.frame = restart->outer;
	if (current.shots && !current.frame)
		restart_delete_timer();
	if (!failed)
		errno = restart->error;
}

long restart_wait_ready(struct pollfd *ready, uint64_t ns)
{
	struct timespec timeout = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	long result;
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	result = kernel_call6(SYS_ppoll, (long)ready, 1, (long)&timeout, (long)NULL, 0, 0);
	pthread_setcanceltype(type, NULL);
	return result;
}

static bool restart_create_timer(int signo)
{
	static const struct itimerspec times = { .it_value = { .tv_nsec = TIMER_FIRST_NS },
						 .it_interval = { .tv_nsec = TIMER_NEXT_NS } };
	struct sigevent event;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = signo;
	event.sigev_value.sival_ptr = (void *)(uintptr_t)&timer_mark;
	event._sigev_un._tid = system_thread();
	if (kernel_call4(SYS_timer_create, CLOCK_MONOTONIC, (long)&event, (long)&current.timer, 0))
		return false;
	kernel_call4(SYS_timer_settime, current.timer, 0, (long)&times, 0);
	return true;
}

void restart_program_handler(uintptr_t sp)
{
	if (!current.frame || current.shots || current.frame - sp >= SAMPLE_NEAR)
		return;
	atomic_fetch_add(&timers, 1);
	/* (Without a signal so far, the thread's only one was dropped.) */
	if (sample_note.signo && !(atomic_load(&spared) & UINT64_C(1) << (sample_note.signo - 1)) &&
	    restart_create_timer(sample_note.signo))
		current.shots = TIMER_MOST;
	else
		atomic_fetch_sub(&timers, 1);
}

bool restart_is_timer(const siginfo_t *info)
{
	if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &timer_mark)
		return false;
	if (current.shots == 1)
		restart_delete_timer();
	else if (current.shots)
		current.shots--;
	return true;
}

bool restart_exclude_signal(int signo)
{
	int tries = 100;

	atomic_fetch_or(&spared, UINT64_C(1) << (signo - 1));
	while (atomic_load(&timers) && --tries)
		system_sleep(100000);
	return tries;
}

void restart_include_signal(int signo)
{
	atomic_fetch_and(&spared, ~(UINT64_C(1) << (signo - 1)));
}

void restart_after_fork(void)
{
	atomic_store(&timers, 0);
	current.shots = 0;
	dropped_signals_after_fork();
}

/* (A handler of the program may run here, and change errno.) */
void masked_wait_unblock(void)
{
	int saved = errno;

	kernel_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&masked_wait.added, 0,
		     sizeof(masked_wait.added));
	errno = saved;
}
