/* A kernel timer that signals one thread. */
#include "core/timer/thread_timer.h"

#include <errno.h>
#include <sys/syscall.h>

#include "core/kernel.h"
#include "core/signal_share.h"
#include "core/timer/dropped_signals.h"

_Atomic uint64_t dropped_signals;

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

static int thread_timer_create(struct thread_timer *timer, clockid_t clock,
			       const struct timer_signal *signal, bool is_lasting)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = signal->signo,
		.sigev_value.sival_ptr = (void *)signal->value,
	};
	int id, err;

	event.sigev_notify_thread_id = signal->tid;
	if (!signal_share_reserve(is_lasting))
		return -EAGAIN;
	err = (int)kernel_call4(SYS_timer_create, clock, (long)&event, (long)&id, 0);
	if (err)
		signal_share_release();
	else
		atomic_store(&timer->id_plus_one, (uint32_t)id + 1);
	return err;
}

/* Returns -EINVAL when another thread has just deleted the timer. */
static int thread_timer_arm(const struct thread_timer *timer, int flags,
			    const struct itimerspec *when)
{
	return (int)kernel_call4(SYS_timer_settime, (long)atomic_load(&timer->id_plus_one) - 1,
				 flags, (long)when, 0);
}

int thread_timer_set(struct thread_timer *timer, clockid_t clock, const struct timer_signal *signal,
		     int flags, uint64_t value_ns, uint64_t interval_ns, bool is_lasting)
{
	struct itimerspec when = { .it_value = timespec_of(value_ns),
				   .it_interval = timespec_of(interval_ns) };
	int err = thread_timer_exists(timer)
			  ? 0
			  : thread_timer_create(timer, clock, signal, is_lasting);

	return err ? err : thread_timer_arm(timer, flags, &when);
}

bool thread_timer_is_armed(const struct thread_timer *timer)
{
	uint32_t id_plus_one = atomic_load(&timer->id_plus_one);
	struct itimerspec left;

	return id_plus_one &&
	       !kernel_call4(SYS_timer_gettime, (long)id_plus_one - 1, (long)&left, 0, 0) &&
	       (left.it_value.tv_sec || left.it_value.tv_nsec);
}

void thread_timer_set_own(const struct thread_timer *timer, uint64_t after_ns)
{
	struct itimerspec when = { .it_value = timespec_of(after_ns) };

	if (thread_timer_exists(timer))
		thread_timer_arm(timer, 0, &when);
}

void thread_timer_disarm(const struct thread_timer *timer)
{
	dropped_signals_begin();
	thread_timer_set_own(timer, 0);
	dropped_signals_end();
}

void thread_timer_delete_own(struct thread_timer *timer)
{
	uint32_t id_plus_one =
		thread_timer_exists(timer) ? atomic_exchange(&timer->id_plus_one, 0) : 0;

	if (!id_plus_one)
		return;
	kernel_call4(SYS_timer_delete, (long)id_plus_one - 1, 0, 0, 0);
	signal_share_release();
}

void thread_timer_delete(struct thread_timer *timer)
{
	if (!thread_timer_exists(timer))
		return;
	dropped_signals_begin();
	thread_timer_delete_own(timer);
	dropped_signals_end();
}
