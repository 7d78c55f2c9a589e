/* Duration of event-loop iterations. */
#include "engine/sample/loop_iterations.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/own_thread.h"
#include "core/signal_share.h"
#include "core/system.h"
#include "core/timer/second_limit.h"
#include "engine/sample/thread_clock.h"
#include "engine/sample/threads.h"

/* Maximum number of threads with iterations at one time. */
#define LOOP_ITERATIONS_MAX 1024

struct loop_iterations loop_iterations = { .due_ns = UINT64_MAX };

__thread struct loop_iteration *loop_iteration_own;
static __thread bool refused; /* there was no room for this thread */

static struct loop_iteration
	*_Atomic loop_iteration_list[LOOP_ITERATIONS_MAX]; /* the first NULL ends it */

static struct {
	struct wake wake;
	atomic_bool any;                /* the list has, or had, an entry */
	uint64_t limit_ns, limit_ticks; /* longest iteration that is no stall */
	uint64_t opened;                /* time of loop_iterations_open() in ticks */
	int signo;
	const struct stall_output *output;
	struct second_limit reports;
	_Atomic uint64_t unreported; /* number that exceeded the limit */
} loop_watcher;

void loop_iterations_set_output(const struct stall_output *output)
{
	loop_watcher.output = output;
}

/* ---- In the program's threads ---- */

static struct loop_iteration *loop_iteration_create(uint32_t index)
{
	struct loop_iteration *iteration = system_map(sizeof(*iteration)), *none = NULL;

	if (!iteration)
		return NULL;
	system_empty_in_children(iteration, sizeof(*iteration));
	iteration->index = index;
	atomic_store(&loop_watcher.any, true);
	if (atomic_compare_exchange_strong(&loop_iteration_list[index], &none, iteration))
		return iteration;
	system_unmap(iteration, sizeof(*iteration));
	return none;
}

/* Acquire a free state, or a new one, for TID. */
static struct loop_iteration *loop_iteration_find_free(pid_t tid)
{
	struct loop_iteration *iteration;
	pid_t free_tid = 0;

	for (uint32_t i = 0; i < LOOP_ITERATIONS_MAX; i++, free_tid = 0) {
		iteration = atomic_load(&loop_iteration_list[i]);
		if (!iteration)
			iteration = loop_iteration_create(i);
		if (!iteration)
			break;
		if (atomic_compare_exchange_strong(&iteration->tid, &free_tid, tid))
			return iteration;
	}
	return NULL;
}

struct loop_iteration *loop_iteration_acquire(void)
{
	struct loop_iteration *iteration;

	if (refused || own_thread_is())
		return NULL;
	iteration = loop_iteration_find_free(system_thread());
	refused = !iteration;
	loop_iteration_own = iteration;
	return iteration;
}

/* The watcher sleeps for at most IN nanoseconds, or until it is woken. */
static void loop_iterations_set_due(uint64_t in)
{
	bool due = in != UINT64_MAX && clock_is_memory();

	atomic_store_explicit(&loop_iterations.due_ns, due ? clock_coarse_ns() + in : UINT64_MAX,
			      memory_order_relaxed);
}

/* In a loop that iterates rarely, this very iteration may stall, and the watcher may take long to
 * run. */
void loop_iteration_wake_watcher(struct loop_iteration *iteration)
{
	if (!atomic_exchange(&loop_iterations.asleep, false))
		return;
	wake_up(&loop_watcher.wake);
	loop_iterations_set_due(
		loop_watcher.limit_ns); /* after the wake-up: see loop_iterations_check() */
	atomic_store(&iteration->watched, atomic_load(&iteration->began));
	if (!loop_watcher.signo || !thread_timer_exists(&iteration->timer))
		return;
	atomic_store(&iteration->armed, true);
	thread_timer_set_own(&iteration->timer, loop_watcher.limit_ns);
}

static bool loop_iterations_may_report(void)
{
	return second_limit_count(&loop_watcher.reports, clock_monotonic_ns(),
				  STALLS_REPORTED_PER_SECOND);
}

static uint64_t loop_iterations_ticks_to_ns(uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * loop_watcher.limit_ns /
			  loop_watcher.limit_ticks);
}

/* The args are the start of the iteration and the result of the wait before it; the time is the
 * iteration's end. */
static void loop_iteration_report(const struct loop_iteration *iteration, uint64_t began,
				  uint64_t now)
{
	pid_t tid = atomic_load_explicit(&iteration->tid, memory_order_relaxed);
	struct thread *thread = threads_self_by_tid(tid);
	struct sample *sample;

	if (iteration->sampled == began)
		sample = ring_reserve_stack_with(
			iteration->index, SAMPLE_STALL, tid, iteration->pcs, iteration->depth,
			iteration->truncated, iteration->context, iteration->context_bytes);
	else
		sample = ring_reserve_stack(iteration->index, SAMPLE_STALL, tid, iteration->pcs, 0,
					    false);
	if (!sample)
		return;
	if (thread)
		atomic_store(&thread->sampled, true); /* so its name is needed */
	sample->ticks = now;
	sample->args[0] = began;
	sample->args[1] = (uint64_t)(int64_t)iteration->ready;
	ring_commit(sample);
}

/* First clears `watched`: from here on a handler does not touch the stack while it is reported. */
void loop_iteration_end_watched(struct loop_iteration *iteration)
{
	uint64_t began = atomic_load(&iteration->began);
	uint64_t now = clock_ticks();

	atomic_store(&iteration->watched, 0);
	if (atomic_exchange(&iteration->armed, false) && iteration->sampled != began)
		thread_timer_set_own(&iteration->timer, 0);
	if (!atomic_load(&loop_iterations.on) || began & LOOP_ITERATION_OVER ||
	    began < loop_watcher.opened ||
	    (int64_t)(now - began) <= (int64_t)loop_watcher.limit_ticks)
		return;
	if (!loop_iterations_may_report())
		atomic_fetch_add(&loop_watcher.unreported, 1);
	else if (loop_watcher.signo)
		loop_iteration_report(iteration, began, now);
	else if (loop_watcher.output)
		loop_watcher.output->report(loop_iterations_ticks_to_ns(now - began),
					    iteration->ready);
}

void loop_iterations_thread_ended(void)
{
	struct loop_iteration *iteration = loop_iteration_own;

	if (!iteration)
		return;
	loop_iteration_own = NULL;
	refused = true; /* the program's destructors may wait for descriptors */
	atomic_store_explicit(&iteration->ended, true, memory_order_release);
}

struct loop_iteration *loop_iteration_of_signal(uintptr_t value)
{
	return value && value == (uintptr_t)loop_iteration_own ? loop_iteration_own : NULL;
}

bool loop_iteration_is_late(const struct loop_iteration *iteration)
{
	uint64_t began = atomic_load(&iteration->began);

	if (!began || began & LOOP_ITERATION_OVER || atomic_load(&iteration->watched) != began ||
	    iteration->sampled == began)
		return false;
	/* The timer may belong to another iteration; and its clock differs from ours by up to a
	 * thousandth. */
	return (int64_t)(clock_ticks() - began) >=
	       (int64_t)(loop_watcher.limit_ticks - loop_watcher.limit_ticks / 1000);
}

void loop_iteration_sampled(struct loop_iteration *iteration, size_t depth, bool truncated)
{
	struct thread_context context;
	size_t bytes = thread_context_read(&context);

	memset(iteration->context, 0, bytes);
	if (bytes)
		thread_context_write(&context, iteration->context);
	iteration->context_bytes = (uint16_t)bytes;
	iteration->depth = (uint32_t)depth;
	iteration->truncated = truncated;
	iteration->sampled = atomic_load(&iteration->began);
}

void loop_iterations_after_fork(void)
{
	atomic_store(&loop_iterations.on, false);
	atomic_store(&loop_iterations.asleep, false);
	loop_iterations_set_due(UINT64_MAX);
	for (size_t i = 0;
	     loop_watcher.any && i < LOOP_ITERATIONS_MAX && atomic_load(&loop_iteration_list[i]);
	     i++) {
		system_unmap(atomic_load(&loop_iteration_list[i]), sizeof(struct loop_iteration));
		atomic_store(&loop_iteration_list[i], NULL);
	}
	loop_iteration_own = NULL;
	refused = false;
	loop_watcher.wake = (struct wake){ 0 };
	loop_watcher.reports = (struct second_limit){ 0 };
	atomic_store(&loop_watcher.unreported, 0);
}

/* ---- The watcher ---- */

uint64_t loop_iterations_unreported(void)
{
	return atomic_load(&loop_watcher.unreported);
}

struct wake *loop_iterations_wake(void)
{
	return &loop_watcher.wake;
}

void loop_iterations_open(uint64_t ns, uint64_t ticks, int signo)
{
	loop_watcher.limit_ns = ns;
	loop_watcher.limit_ticks = ticks;
	loop_watcher.signo = signo;
	loop_watcher.opened = clock_ticks();
	atomic_store(&loop_iterations.asleep, false);
	atomic_store(&loop_iterations.on, true);
}

static void loop_iteration_timer_delete(struct loop_iteration *iteration)
{
	atomic_store(&iteration->armed, false);
	thread_timer_delete(&iteration->timer);
}

static void loop_iteration_release(struct loop_iteration *iteration)
{
	loop_iteration_timer_delete(iteration);
	atomic_store(&iteration->began, 0);
	atomic_store(&iteration->watched, 0);
	atomic_store(&iteration->ended, false);
	iteration->seen = iteration->late = iteration->sampled = 0;
	atomic_store_explicit(&iteration->tid, 0, memory_order_release);
}

static int loop_iteration_timer_set(struct loop_iteration *iteration, pid_t tid, uint64_t after_ns)
{
	struct timer_signal signal = { .tid = tid,
				       .signo = loop_watcher.signo,
				       .value = (uintptr_t)iteration };

	return thread_timer_set(&iteration->timer, CLOCK_MONOTONIC, &signal, 0, after_ns, 0, false);
}

static bool loop_iterations_limit_reached(void)
{
	return second_limit_is_reached(&loop_watcher.reports, clock_monotonic_ns(),
				       STALLS_REPORTED_PER_SECOND);
}

/* From now on the thread reads the clock at the end of the iteration that started at BEGAN. It is
 * late LEFT ticks from now. The kernel's timer then makes it record its stack, even if the watcher
 * has no processor. (Why a timer: see thread_clock.c.) An iteration that ends meanwhile may not
 * have seen the timer yet. */
static void loop_iteration_watch(struct loop_iteration *iteration, uint64_t began, pid_t tid,
				 uint64_t left)
{
	atomic_store(&iteration->watched, began);
	if (!loop_watcher.signo || loop_iterations_limit_reached())
		return;
	atomic_store(&iteration->armed, true);
	if (loop_iteration_timer_set(iteration, tid, loop_iterations_ticks_to_ns(left) + 1))
		atomic_store(&iteration->armed, false);
	else if ((atomic_load(&iteration->watched) != began ||
		  atomic_load(&iteration->began) != began) &&
		 atomic_exchange(&iteration->armed, false))
		thread_timer_disarm(&iteration->timer);
}

/* Check one iteration. Returns the ticks until it is late; UINT64_MAX: it is over, or was found
 * late before. Sets *ACTIVE when a new iteration has started since the last check. */
static uint64_t loop_iteration_check(struct loop_iteration *iteration, bool *active)
{
	pid_t tid = atomic_load_explicit(&iteration->tid, memory_order_acquire);
	uint64_t began = atomic_load_explicit(&iteration->began, memory_order_acquire);
	int64_t lasted;
	uint64_t left;

	if (tid && atomic_load_explicit(&iteration->ended, memory_order_acquire)) {
		loop_iteration_release(iteration);
		return UINT64_MAX;
	}
	if (!tid || began < loop_watcher.opened)
		return UINT64_MAX;
	*active |= began != iteration->seen;
	iteration->seen = began;
	if (began & LOOP_ITERATION_OVER || iteration->late == began)
		return UINT64_MAX;
	/* (The clocks of two processors may differ by a few ticks.) */
	lasted = (int64_t)(clock_ticks() - began);
	lasted = lasted > 0 ? lasted : 0;
	left = lasted <= (int64_t)loop_watcher.limit_ticks
		       ? loop_watcher.limit_ticks - (uint64_t)lasted + 1
		       : 0;
	if (atomic_load(&iteration->watched) != began)
		loop_iteration_watch(iteration, began, tid, left);
	if (left)
		return loop_watcher.signo ? UINT64_MAX : left;
	iteration->late = began;
	if (system_thread_is_gone(tid))
		loop_iteration_release(iteration);
	else if (!loop_watcher.signo && loop_watcher.output && !loop_iterations_limit_reached())
		loop_watcher.output->sample(tid);
	return UINT64_MAX;
}

/* Iterations that start after this check cannot be late before their time limit has passed from now
 * on. If none has started for that long, the next one is asked to wake the watcher. One may just
 * have started that did not see this request. The next check sees that one: until then there is
 * enough time for its stores to become visible here. */
uint64_t loop_iterations_check(void)
{
	uint64_t soonest = UINT64_MAX, ticks, in;
	bool active = false, asleep = atomic_load(&loop_iterations.asleep);
	struct loop_iteration *iteration;

	for (size_t i = 0;
	     i < LOOP_ITERATIONS_MAX && (iteration = atomic_load(&loop_iteration_list[i])); i++) {
		ticks = loop_iteration_check(iteration, &active);
		soonest = ticks < soonest ? ticks : soonest;
	}
	if (active && loop_watcher.limit_ticks < soonest)
		soonest = loop_watcher.limit_ticks;
	atomic_store(&loop_iterations.asleep, soonest == UINT64_MAX);
	if (soonest != UINT64_MAX)
		in = loop_iterations_ticks_to_ns(soonest);
	else
		in = asleep ? UINT64_MAX : loop_watcher.limit_ns;
	/* A thread may have woken the watcher before this store. */
	loop_iterations_set_due(in);
	if (wake_is_pending(&loop_watcher.wake))
		loop_iterations_set_due(loop_watcher.limit_ns);
	return in;
}

void loop_iterations_close(void)
{
	struct loop_iteration *iteration;

	atomic_store(&loop_iterations.on, false);
	atomic_store(&loop_iterations.asleep, false);
	loop_iterations_set_due(UINT64_MAX);
	for (size_t i = 0;
	     i < LOOP_ITERATIONS_MAX && (iteration = atomic_load(&loop_iteration_list[i])); i++) {
		loop_iteration_timer_delete(iteration);
		if (atomic_load(&iteration->ended))
			loop_iteration_release(iteration);
	}
}
