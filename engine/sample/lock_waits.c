/* Sampled waits for locks. */
#include "engine/sample/lock_waits.h"

#include <stdatomic.h>

#include "core/clock.h"
#include "core/cost.h"
#include "core/own_thread.h"
#include "core/random.h"
#include "core/system.h"
#include "core/timer/second_limit.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/sample/poisson.h"
#include "engine/sample/ring.h"
#include "engine/sample/sampler.h"
#include "engine/sample/threads.h"
#include "engine/unwind/unwind.h"

static struct {
	_Atomic uint64_t interval_ns; /* 0: off */
	struct second_limit reports;
} lock_waits;

void lock_waits_set_interval(uint64_t interval_ns)
{
	atomic_store(&lock_waits.interval_ns, interval_ns == UINT64_MAX ? 0 : interval_ns);
}

bool lock_wait_begin(struct lock_wait *wait)
{
	uint64_t interval_ns = atomic_load_explicit(&lock_waits.interval_ns, memory_order_relaxed);

	if (!interval_ns || own_thread_is())
		return false;
	wait->interval_ns = interval_ns;
	wait->delay_ns = poisson_distance(random_below(UINT64_MAX), interval_ns);
	wait->start_ns = clock_monotonic_ns();
	wait->start_ticks = clock_ticks();
	return true;
}

static bool report_is_allowed(void)
{
	return second_limit_count(&lock_waits.reports, clock_monotonic_ns(), LOCK_WAITS_PER_SECOND);
}

void lock_wait_delayed(const struct lock_wait *wait)
{
	struct thread *owner;
	uint32_t tid;

	if (!wait->owner_word || !report_is_allowed())
		return;
	tid = __atomic_load_n((const uint32_t *)wait->owner_word, __ATOMIC_RELAXED) &
	      LOCK_OWNER_TID;
	owner = tid && (pid_t)tid != system_thread() ? thread_slot_find((pid_t)tid) : NULL;
	if (owner)
		sampler_interrupt_owner(owner, wait->owner_word);
}

static struct sample *lock_wait_reserve(pid_t tid, const struct lock_wait *wait)
{
	struct thread *t = threads_self_by_tid(tid);
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), *pcs = ring_scratch_acquire();
	bool is_known = t && here >= t->stack_low && here < t->stack_high, truncated;
	struct sample *s;
	size_t depth;

	if (!pcs)
		return NULL;
	pcs[0] = wait->function;
	depth = mixed_stack_here(is_known ? t->stack_high : 0, 0, pcs + 1, SAMPLE_DEPTH_MAX - 1,
				 &truncated);
	s = ring_reserve_stack((uint32_t)tid, SAMPLE_LOCK, tid, pcs, depth + 1, truncated);
	ring_scratch_release(pcs);
	if (unwind_wants_refresh())
		ring_wake();
	if (t)
		atomic_store_explicit(&t->sampled, true, memory_order_relaxed);
	return s;
}

void lock_wait_end(const struct lock_wait *wait)
{
	uint64_t end_ns = clock_monotonic_ns(), ns = end_ns - wait->start_ns,
		 ticks = clock_ticks() - wait->start_ticks;
	struct sample *s;

	if (ns < wait->delay_ns)
		return;
	s = lock_wait_reserve(system_thread(), wait);
	if (!s)
		return;
	s->ticks = wait->start_ticks;
	s->args[0] = wait->lock;
	s->args[1] = ticks;
	s->args[2] = (uint64_t)((double)ticks /
				poisson_probability((double)ns / (double)wait->interval_ns));
	ring_commit(s);
	ns = clock_monotonic_ns() - end_ns;
	cost_add(COST_LOCKS, ns < COST_HOOK_MAX_NS ? ns : COST_HOOK_MAX_NS, 1);
}
