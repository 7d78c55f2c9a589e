/* Timers that request samples of one thread.
 *
 * All are POSIX timers that signal one thread. tgkill(2) would suffice for a single shot, but the
 * kernel drops only the pending signals of timers at exec. One from tgkill would reach the new
 * program and kill it. */
#include "engine/sample/thread_clock.h"

#include <errno.h>

#include "core/signal_share.h"
#include "core/system.h"

static struct {
	struct thread_timers timers;
	_Atomic bool forbidden;
} thread_clocks;

void thread_clock_open(const struct thread_timers *timers)
{
	thread_clocks.timers = *timers;
	cpu_timer_seed();
}

void thread_clock_set_interval(uint64_t cpu_interval_ns)
{
	thread_clocks.timers.cpu_interval_ns = cpu_interval_ns;
}

void thread_clock_forbid(void)
{
	atomic_store(&thread_clocks.forbidden, true);
}

static struct timer_signal signal_of(pid_t tid, uintptr_t value, enum clock_kind kind)
{
	return (struct timer_signal){ .tid = tid,
				      .signo = thread_clocks.timers.signo,
				      .value = value | kind };
}

void thread_clock_init(struct thread_clock *clock, pid_t tid, uintptr_t value)
{
	struct timer_signal signal = signal_of(tid, value, CLOCK_OF_CPU);

	cpu_timer_init(&clock->cpu, &signal);
	atomic_store_explicit(&clock->refused, false, memory_order_relaxed);
	atomic_store_explicit(&clock->under_way, false, memory_order_relaxed);
	clock->hold = SIGNAL_NOT_HELD;
	clock->checked_ns = 0;
}

uint64_t thread_clock_cpu(const struct thread_clock *clock)
{
	return thread_timer_cpu_ns(clock->cpu.signal.tid);
}

/* A thread that may wait for signals uses less CPU time than this between two checks. */
#define WAITER_NS 10000000u

/* A thread that has not run since the last check has not changed its mask. */
static enum signal_hold thread_clock_hold(struct thread_clock *clock)
{
	const struct thread_timers *timers = &thread_clocks.timers;
	uint64_t cpu_ns = timers->hold ? thread_clock_cpu(clock) : clock->checked_ns;
	enum signal_hold now = clock->hold;

	if (cpu_ns == clock->checked_ns || now == SIGNAL_HELD_ALWAYS)
		return now;
	now = timers->hold(clock->cpu.signal.tid, timers->signo);
	if (now == SIGNAL_MAY_BE_HELD)
		return cpu_ns - clock->checked_ns < WAITER_NS ? now : SIGNAL_NOT_HELD;
	clock->checked_ns = cpu_ns;
	clock->hold = now;
	return now;
}

void thread_clock_start(struct thread_clock *clock, bool born)
{
	pid_t tid = clock->cpu.signal.tid;
	int err = -ECANCELED;

	if (thread_clocks.timers.cpu_interval_ns == UINT64_MAX)
		return;
	clock->cpu.signal.signo = thread_clocks.timers.signo;
	if (thread_clock_hold(clock) >= SIGNAL_HELD) {
		atomic_store(&clock->refused, true);
		return;
	}
	if (!atomic_load(&thread_clocks.forbidden))
		err = cpu_timer_start(&clock->cpu, thread_clocks.timers.cpu_interval_ns, born);
	if (err && !atomic_load(&thread_clocks.forbidden) && signal_share_count_refused(tid, err))
		atomic_store(&clock->refused, true);
}

void thread_clock_follow_mask(struct thread_clock *clock)
{
	if (!thread_timer_exists(&clock->cpu.cpu) || thread_clock_hold(clock) < SIGNAL_HELD)
		return;
	cpu_timer_stop(&clock->cpu);
	atomic_store(&clock->refused, true);
}

void thread_clock_spare(struct thread_clock *clock)
{
	if (!signal_share_is_scarce()) {
		if (atomic_exchange(&clock->refused, false))
			thread_clock_start(clock, false);
	} else if (!atomic_load(&clock->under_way)) {
		thread_timer_delete(&clock->wall);
	}
}

/* Linux 6.13 and later drop the pending signal of a deleted timer, after it has ended the thread's system call. So another
 * signal is pending then, whose handler continues the call. */
void thread_clock_pause(struct thread_clock *clock)
{
	if (cpu_timer_may_have_expired(&clock->cpu))
		thread_clock_interrupt(clock);
	cpu_timer_pause(&clock->cpu);
	atomic_store(&clock->refused, false);
}

bool thread_clock_expects_signal(const struct thread_clock *clock)
{
	return atomic_load(&clock->under_way) || cpu_timer_expects_fine(&clock->cpu);
}

static void thread_clock_reset(struct thread_clock *clock)
{
	atomic_store(&clock->under_way, false);
	atomic_store(&clock->refused, false);
}

void thread_clock_stop(struct thread_clock *clock)
{
	cpu_timer_stop(&clock->cpu);
	thread_timer_delete(&clock->wall);
	thread_clock_reset(clock);
}

void thread_clock_end(struct thread_clock *clock)
{
	cpu_timer_stop_own(&clock->cpu);
	thread_timer_delete_own(&clock->wall);
	thread_clock_reset(clock);
}

void thread_clock_disarm(struct thread_clock *clock)
{
	cpu_timer_disarm(&clock->cpu);
	thread_timer_disarm(&clock->wall);
}

static int wall_timer_set(struct thread_clock *clock, uint64_t after_ns)
{
	struct timer_signal signal =
		signal_of(clock->cpu.signal.tid, clock->cpu.signal.value, CLOCK_OF_WALL);

	return thread_timer_set(&clock->wall, CLOCK_MONOTONIC, &signal, 0, after_ns, 0, false);
}

/* One request at a time. If the timer were set again while its signal is pending, the kernel could
 * drop that signal after it has interrupted a system call. No handler would then know of the
 * interruption. */
bool thread_clock_interrupt(struct thread_clock *clock)
{
	if (atomic_load(&thread_clocks.forbidden) || thread_clock_hold(clock) != SIGNAL_NOT_HELD)
		return false;
	if (atomic_exchange(&clock->under_way, true))
		return true;
	if (!wall_timer_set(clock, 1))
		return true;
	atomic_store(&clock->under_way, false);
	return false;
}

bool thread_clock_is_under_way(const struct thread_clock *clock)
{
	return atomic_load(&clock->under_way);
}

void thread_clock_interrupted(struct thread_clock *clock)
{
	atomic_store(&clock->under_way, false);
}

void thread_clock_interrupt_again(struct thread_clock *clock, uint64_t after_ns)
{
	if (atomic_load(&thread_clocks.forbidden) || wall_timer_set(clock, after_ns))
		thread_clock_interrupted(clock);
}
