/* When a thread's clocks ask for a sample of it.
 *
 * A thread owes a sample at some first moment of its CPU time and then once an interval. That is
 * exact, while the moments at which one can be taken are not: so whatever gives the chance takes
 * all that are due by then. The chances are the kernel's timer for the thread's CPU time, which is
 * looked at only when the scheduler ticks; a shot by the precise monotonic clock, where the first
 * sample is due sooner than that; and the thread's end, for what neither brought. */
#ifndef ENGINE_SAMPLE_THREAD_CLOCK_H
#define ENGINE_SAMPLE_THREAD_CLOCK_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Where glibc does not name it. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum thread_timer {
	TIMER_CPU,   /* of the thread's CPU time, once an interval */
	TIMER_FIRST, /* a single shot, for a first sample that is due within a tick */
	TIMER_WALL,  /* a single shot, for a wall-clock sample */
	THREAD_TIMERS,
};

/* The signal's value is the thread's slot, with the timer's number in these bits. */
#define CLOCK_KIND_BITS ((uintptr_t)3)

struct thread_clock {
	uintptr_t value;
	pid_t tid;
	_Atomic bool has[THREAD_TIMERS];
	int timers[THREAD_TIMERS]; /* as the kernel numbers them */
	_Atomic uint64_t first_ns; /* CPU time at which the first is due; UINT64_MAX: never */
	_Atomic uint64_t taken;    /* of those due since */
	unsigned shots;            /* of TIMER_FIRST that came too soon */
	_Atomic bool refused;      /* there was no timer for its CPU time */
	_Atomic bool under_way;    /* a shot of TIMER_WALL that the thread has not taken yet */
};

/* The timers of every thread, as the engine wants them. */
struct thread_timers {
	int signo;
	uint64_t cpu_interval_ns; /* UINT64_MAX: none */
};

/* What holds for all clocks that are started from now on. */
void thread_clock_open(const struct thread_timers *timers);

/* Have no timer signal any more, for good. Async-signal-safe, as is thread_clock_disarm, which
 * silences one that may run. */
void thread_clock_forbid(void);
void thread_clock_disarm(const struct thread_clock *clock);

/* A clock for thread TID that asks for nothing, with VALUE in its signals. */
void thread_clock_init(struct thread_clock *clock, pid_t tid, uintptr_t value);

/* Begin to ask for CPU samples. BORN: the caller is the thread itself, at its start. */
void thread_clock_start(struct thread_clock *clock, bool born);

/* Ask for nothing, and give the timers back. */
void thread_clock_stop(struct thread_clock *clock);

/* How many samples fell due up to CPU_NS of its CPU time and were not taken; they are now.
 * Async-signal-safe. */
uint32_t thread_clock_take(struct thread_clock *clock, uint64_t cpu_ns);

/* TIMER_FIRST came when the thread had used CPU_NS of CPU time and nothing was due, as it had
 * waited for a processor: shoot again, if not too often. Async-signal-safe. */
void thread_clock_again(struct thread_clock *clock, uint64_t cpu_ns);

/* Its thread's CPU time so far in nanoseconds; 0 when that is gone. */
uint64_t thread_clock_cpu(const struct thread_clock *clock);

/* Have the thread interrupted once for a wall-clock sample, at any moment within WITHIN_NS (at
 * least 1): were it done at once, running threads would be caught mostly where the scheduler let
 * the agent thread in, at the end of their system calls. False when it cannot be done. */
bool thread_clock_interrupt(struct thread_clock *clock, uint64_t within_ns);

/* TIMER_WALL's signal has come. Async-signal-safe. */
void thread_clock_interrupted(struct thread_clock *clock);

/* Where timers are scarce (core/signal_share.h), give back the one of the wall clock, which is made when
 * it is wanted; where they are no longer, make the one of CPU time that was refused. Agent thread. */
void thread_clock_spare(struct thread_clock *clock);

#endif
