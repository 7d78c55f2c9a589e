/* Replacements for the timer calls by which async-profiler samples CPU time.
 *
 * async-profiler asks for a CPU timer with a period for each thread. It gets a cpu_timer (core/timer/cpu_timer.h),
 * whose samples are at exact CPU times and begin at a random one. Its own timers lose the CPU time of each thread
 * beyond whole periods. */
#ifndef ASYNCPROF_TIMER_CALLS_H
#define ASYNCPROF_TIMER_CALLS_H

#include <stdint.h>

struct cpu_timer;

/* timer_create(2), timer_settime(2) and timer_delete(2), with the results of a correct call. EVENT has the thread; of WHEN
 * only the interval counts. The ids are not the kernel's. */
long timer_calls_create(long event, long id);
long timer_calls_set(long id, long when);
long timer_calls_delete(long id);

/* async-profiler is about to stop: refuse new timers, which it would not find, until signal_share_open()
 * (core/signal_share.h). Waits for calls that have begun, for a fifth of a second at most. */
void timer_calls_refuse_new(void);

/* Stop all timers, for good: async-profiler does not answer any more. */
void timer_calls_stop_all(void);

/* Return the calling thread's timer that sends VALUE, or NULL. Async-signal-safe. */
struct cpu_timer *timer_calls_find(uintptr_t value);

#endif
