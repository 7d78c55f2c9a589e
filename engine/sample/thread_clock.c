/* When a thread's clocks ask for a sample of it.
 *
 * All are POSIX timers that signal one thread, also for the single shot of the wall clock, where
 * tgkill(2) would do: the kernel drops the pending signals of timers at exec, while one from
 * tgkill would live on into the new program, and kill it. */
#include "engine/sample/thread_clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "core/clock.h"
#include "core/kernel.h"
#include "core/random.h"
#include "core/signal_share.h"
#include "core/system.h"

/* The scheduler's tick, on most kernels: where a first sample is due sooner, waiting for a tick
 * would miss threads that are gone by then. */
#define TICK_NS 4000000u

/* A new thread is given so much time to get from our code to the program's. */
#define LEAVE_NS 20000u

/* How often a thread that begins with waiting is interrupted in vain. */
#define SHOTS_MAX 3

static struct {
	struct thread_timers timers;
	_Atomic bool forbidden;
	/* Where in the interval the next thread's first sample is due, in 1/2^64 of it. Each is
	 * the golden ratio further on, which spreads any number of threads evenly: threads that
	 * live for a tenth of an interval are sampled one time in ten, with less left to chance
	 * than random moments would. */
	_Atomic uint64_t phase;
} all;

#define GOLDEN_RATIO 0x9e3779b97f4a7c15u

void thread_clock_open(const struct thread_timers *timers)
{
	all.timers = *timers;
	/* Not the same in every process, of which there may be many short ones. */
	atomic_store(&all.phase, random_below(UINT64_MAX));
}

void thread_clock_forbid(void)
{
	atomic_store(&all.forbidden, true);
}

void thread_clock_init(struct thread_clock *clock, pid_t tid, uintptr_t value)
{
	clock->tid = tid;
	clock->value = value;
	clock->shots = 0;
	atomic_store(&clock->refused, false);
	atomic_store(&clock->under_way, false);
	atomic_store(&clock->first_ns, UINT64_MAX);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

/* The kernel's number for the CPU clock of thread TID, see clock_getcpuclockid(3): all bits of
 * the id inverted above three for its kind, which is "one thread" (4) and "scheduler" (2). */
static clockid_t cpu_clock(pid_t tid)
{
	return (clockid_t)(~(uint32_t)tid << 3 | 6);
}

uint64_t thread_clock_cpu(const struct thread_clock *clock)
{
	struct timespec spent;

	if (clock_read(cpu_clock(clock->tid), &spent))
		return 0;
	return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

/* timer_settime(2). (libfaketime has another one, for timers by the time that it makes up.) */
static long arm(int timer, int flags, const struct itimerspec *when)
{
	return kernel_call4(SYS_timer_settime, timer, flags, (long)when, 0);
}

/* Set TIMER, made when it is wanted first. Returns 0 or -errno: -EAGAIN where a share of what the user may
 * have is spent. */
static int wall_timer_set(struct thread_clock *clock, enum thread_timer timer, int flags,
			  uint64_t value_ns, uint64_t interval_ns)
{
	struct itimerspec when = { .it_value = timespec_of(value_ns),
				   .it_interval = timespec_of(interval_ns) };
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = all.timers.signo,
		.sigev_value.sival_ptr = (void *)(clock->value | timer),
	};

	int err;

	if (atomic_load(&all.forbidden))
		return -ECANCELED;
	event.sigev_notify_thread_id = clock->tid;
	if (!clock->has[timer] && !signal_share_reserve(timer == TIMER_CPU))
		return -EAGAIN;
	if (!clock->has[timer]) {
		err = (int)kernel_call4(SYS_timer_create,
					timer == TIMER_CPU ? cpu_clock(clock->tid)
							   : CLOCK_MONOTONIC,
					(long)&event, (long)&clock->timers[timer], 0);
		if (err) {
			signal_share_release();
			return err;
		}
	}
	clock->has[timer] = true;
	return (int)arm(clock->timers[timer], flags, &when);
}

void thread_clock_start(struct thread_clock *clock, bool born)
{
	uint64_t interval = all.timers.cpu_interval_ns;
	uint64_t phase, now, first, wait;
	int err;

	if (interval == UINT64_MAX)
		return;
	phase = atomic_fetch_add(&all.phase, GOLDEN_RATIO);
	now = thread_clock_cpu(clock);
	/* The time that it took to be born is the thread's own, too. */
	first = (born ? 0 : now) + 1 + (uint64_t)((unsigned __int128)phase * interval >> 64);
	wait = first > now + LEAVE_NS ? first - now : LEAVE_NS;
	atomic_store(&clock->taken, 0);
	atomic_store(&clock->first_ns, first);
	err = wall_timer_set(clock, TIMER_CPU, TIMER_ABSTIME, now + wait, interval);
	if (err) {
		atomic_store(&clock->first_ns, UINT64_MAX);
		/* Not one that is stopped or gone, or whose signal is the program's now. */
		if (!clock->has[TIMER_CPU] && !atomic_load(&all.forbidden) &&
		    !signal_share_is_closed() &&
		    !(err == -EINVAL && system_thread_is_gone(clock->tid))) {
			atomic_store(&clock->refused, true);
			signal_share_count_refused(err);
		}
	} else if (born && wait < TICK_NS)
		wall_timer_set(clock, TIMER_FIRST, 0, wait, 0);
}

static void thread_timer_delete(struct thread_clock *clock, int timer)
{
	if (!clock->has[timer])
		return;
	kernel_call4(SYS_timer_delete, clock->timers[timer], 0, 0, 0);
	clock->has[timer] = false;
	signal_share_release();
}

void thread_clock_spare(struct thread_clock *clock)
{
	if (!signal_share_is_scarce()) {
		if (atomic_exchange(&clock->refused, false))
			thread_clock_start(clock, false);
	} else if (!atomic_load(&clock->under_way)) {
		thread_timer_delete(clock, TIMER_WALL);
	}
}

void thread_clock_stop(struct thread_clock *clock)
{
	atomic_store(&clock->first_ns, UINT64_MAX);
	for (int i = 0; i < THREAD_TIMERS; i++)
		thread_timer_delete(clock, i);
	atomic_store(&clock->under_way, false);
	atomic_store(&clock->refused, false);
}

void thread_clock_disarm(const struct thread_clock *clock)
{
	static const struct itimerspec never;

	for (int i = 0; i < THREAD_TIMERS; i++)
		if (clock->has[i])
			arm(clock->timers[i], 0, &never);
}

uint32_t thread_clock_take(struct thread_clock *clock, uint64_t cpu_ns)
{
	uint64_t first = atomic_load_explicit(&clock->first_ns, memory_order_relaxed);
	uint64_t taken = atomic_load_explicit(&clock->taken, memory_order_relaxed), due;

	if (cpu_ns < first)
		return 0;
	due = 1 + (cpu_ns - first) / all.timers.cpu_interval_ns;
	/* Only a signal can come in between, which then takes them. */
	if (due <= taken || !atomic_compare_exchange_strong(&clock->taken, &taken, due))
		return 0;
	return (uint32_t)(due - taken);
}

void thread_clock_again(struct thread_clock *clock, uint64_t cpu_ns)
{
	uint64_t first = atomic_load_explicit(&clock->first_ns, memory_order_relaxed);

	if (cpu_ns < first && first - cpu_ns < TICK_NS && clock->shots++ < SHOTS_MAX)
		wall_timer_set(clock, TIMER_FIRST, 0, first - cpu_ns, 0);
}

/* One at a time: were the timer set again while its signal is pending, the kernel would drop that
 * one when it has already interrupted a system call, and no handler would know. */
bool thread_clock_interrupt(struct thread_clock *clock, uint64_t within_ns)
{
	if (atomic_load(&all.forbidden))
		return false;
	if (atomic_exchange(&clock->under_way, true))
		return true;
	if (!wall_timer_set(clock, TIMER_WALL, 0, 1 + random_below(within_ns), 0))
		return true;
	atomic_store(&clock->under_way, false);
	return false;
}

void thread_clock_interrupted(struct thread_clock *clock)
{
	atomic_store(&clock->under_way, false);
}
