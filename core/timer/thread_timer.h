/* A kernel timer that signals one thread. It is created when it is first set.
 *
 * The calls are direct system calls: libfaketime has its own timers, which follow its fake clock. All functions are
 * async-signal-safe. */
#ifndef CORE_TIMER_THREAD_TIMER_H
#define CORE_TIMER_THREAD_TIMER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/clock.h"

/* For glibc versions without this name. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Zeroed memory is a timer that does not exist. One word has both the existence and the id. So a thread that deletes
 * the timer while another one creates it again does not take the new id for the old one. */
struct thread_timer {
	_Atomic uint32_t id_plus_one; /* the kernel's id; 0: the timer does not exist */
};

static inline bool thread_timer_exists(const struct thread_timer *timer)
{
	return atomic_load(&timer->id_plus_one);
}

/* The signal that a timer sends, and its thread. */
struct timer_signal {
	pid_t tid;
	int signo;
	uintptr_t value;
};

/* Return the kernel's id for the CPU clock of thread TID, see clock_getcpuclockid(3). The inverted id is shifted by three
 * bits. The lower bits are the clock's kind: "one thread" (4) and "scheduler" (2). */
static inline clockid_t thread_timer_cpu_clock(pid_t tid)
{
	return (clockid_t)(~(uint32_t)tid << 3 | 6);
}

/* CPU time of thread TID; 0 if it has ended. */
static inline uint64_t thread_timer_cpu_ns(pid_t tid)
{
	struct timespec spent;

	return clock_read(thread_timer_cpu_clock(tid), &spent) ? 0 : clock_time_ns(&spent);
}

/* Set TIMER of CLOCK as timer_settime(2) does. IS_LASTING: see signal_share_reserve(). Returns 0 or -errno; -EAGAIN
 * when the user's share of signals is used up. */
int thread_timer_set(struct thread_timer *timer, clockid_t clock, const struct timer_signal *signal,
		     int flags, uint64_t value_ns, uint64_t interval_ns, bool is_lasting);

/* True if TIMER exists and has not expired. For timers without an interval. */
bool thread_timer_is_armed(const struct thread_timer *timer);

/* Set TIMER again in the thread that it signals, if it exists. 0: disarm it. */
void thread_timer_set_own(const struct thread_timer *timer, uint64_t after_ns);

/* Disarm TIMER, if it exists. */
void thread_timer_disarm(const struct thread_timer *timer);

/* Delete TIMER, if it exists. When two threads call it at once, one deletes the timer. The second function is for the
 * thread that the timer signals, or after its end: it is in no call that a dropped signal ends
 * (core/timer/dropped_signals.h). */
void thread_timer_delete(struct thread_timer *timer);
void thread_timer_delete_own(struct thread_timer *timer);

#endif
