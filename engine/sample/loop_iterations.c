/* Turns of event loops. */
#include "engine/sample/loop_iterations.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/own_thread.h"
#include "core/signal_share.h"
#include "core/system.h"
#include "engine/sample/thread_clock.h"
#include "engine/sample/threads.h"

/* Threads with turns at one time. */
#define LOOP_ITERATIONS_MAX 1024

struct turns turns = { .due_ns = UINT64_MAX };

__thread struct turn *loop_iteration_own;
static __thread bool refused; /* there was no room for this thread */

static struct turn *_Atomic loop_iteration_list[LOOP_ITERATIONS_MAX]; /* the first NULL ends it */

static struct {
	struct wake wake;
	atomic_bool any;         /* is in the list, or has been */
	uint64_t limit_ns, most; /* that a turn may last, the second in ticks */
	uint64_t opened;         /* ticks */
	int signo;
	const struct stall_output *outlet;
	_Atomic uint64_t second;     /* of the monotonic clock */
	_Atomic uint32_t told;       /* in that */
	_Atomic uint64_t unreported; /* for want of room in a second */
} all;

void stall_output(const struct stall_output *outlet)
{
	all.outlet = outlet;
}

/* ---- In the program's threads ---- */

static struct turn *loop_iteration_create(uint32_t index)
{
	struct turn *turn = system_map(sizeof(*turn)), *none = NULL;

	if (!turn)
		return NULL;
	system_empty_in_children(turn, sizeof(*turn));
	turn->index = index;
	atomic_store(&all.any, true);
	if (atomic_compare_exchange_strong(&loop_iteration_list[index], &none, turn))
		return turn;
	system_unmap(turn, sizeof(*turn));
	return none;
}

/* One that is nobody's, or a new one, as TID's. */
static struct turn *loop_iteration_find_free(pid_t tid)
{
	struct turn *turn;
	pid_t nobody = 0;

	for (uint32_t i = 0; i < LOOP_ITERATIONS_MAX; i++, nobody = 0) {
		turn = atomic_load(&loop_iteration_list[i]);
		if (!turn)
			turn = loop_iteration_create(i);
		if (!turn)
			break;
		if (atomic_compare_exchange_strong(&turn->tid, &nobody, tid))
			return turn;
	}
	return NULL;
}

struct turn *loop_iteration_acquire(void)
{
	struct turn *turn;

	if (refused || own_thread_is())
		return NULL;
	turn = loop_iteration_find_free(system_thread());
	refused = !turn;
	loop_iteration_own = turn;
	return turn;
}

/* It sleeps for IN nanoseconds at most, or until it is woken. */
static void loop_iterations_set_due(uint64_t in)
{
	bool due = in != UINT64_MAX && clock_is_memory();

	atomic_store_explicit(&turns.due_ns, due ? clock_coarse_ns() + in : UINT64_MAX,
			      memory_order_relaxed);
}

static void loop_iteration_timer_set(const struct turn *turn, uint64_t ns)
{
	const struct itimerspec then = { .it_value = { .tv_sec = (time_t)(ns / 1000000000u),
						       .tv_nsec = (long)(ns % 1000000000u) } };

	kernel_call4(SYS_timer_settime, turn->timer, 0, (long)&then, 0);
}

/* A loop that turns seldom has its stall in this turn, and the watcher may be long in coming. */
void loop_iteration_wake_watcher(struct turn *turn)
{
	if (!atomic_exchange(&turns.asleep, false))
		return;
	wake_up(&all.wake);
	loop_iterations_set_due(all.limit_ns); /* behind that: see loop_iterations_check() */
	atomic_store(&turn->watched, atomic_load(&turn->began));
	if (!all.signo || !atomic_load(&turn->has_timer))
		return;
	atomic_store(&turn->armed, true);
	loop_iteration_timer_set(turn, all.limit_ns);
}

/* True STALLS_REPORTED_PER_SECOND times a second. (Of those who come to a new second at once, one may count in the
 * old one's place: some more are told then.) */
static bool loop_iterations_may_report(void)
{
	uint64_t second = clock_monotonic_ns() / 1000000000u;

	if (atomic_exchange(&all.second, second) != second)
		atomic_store(&all.told, 0);
	return atomic_fetch_add(&all.told, 1) < STALLS_REPORTED_PER_SECOND;
}

static uint64_t loop_iterations_ticks_to_ns(uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * all.limit_ns / all.most);
}

/* Its args are where the turn began and what the wait before it returned; its time is the turn's end. */
static void tell(const struct turn *turn, uint64_t began, uint64_t now)
{
	pid_t tid = atomic_load_explicit(&turn->tid, memory_order_relaxed);
	struct thread *thread = threads_self_by_tid(tid);
	struct sample *sample;

	if (turn->sampled == began)
		sample = ring_reserve_stack_with(turn->index, SAMPLE_STALL, tid, turn->pcs,
						 turn->depth, turn->truncated, turn->context,
						 turn->context_bytes);
	else
		sample = ring_reserve_stack(turn->index, SAMPLE_STALL, tid, turn->pcs, 0, false);
	if (!sample)
		return;
	if (thread)
		atomic_store(&thread->sampled, true); /* so its name is wanted */
	sample->ticks = now;
	sample->args[0] = began;
	sample->args[1] = (uint64_t)(int64_t)turn->ready;
	ring_commit(sample);
}

/* For a handler that comes from here on the turn is watched no more: its stack is not touched while it is told. */
void loop_iteration_end_watched(struct turn *turn)
{
	uint64_t began = atomic_load(&turn->began);
	uint64_t now = clock_ticks();

	atomic_store(&turn->watched, 0);
	if (atomic_exchange(&turn->armed, false) && turn->sampled != began)
		loop_iteration_timer_set(turn, 0);
	if (!atomic_load(&turns.on) || began & LOOP_ITERATION_OVER || began < all.opened ||
	    (int64_t)(now - began) <= (int64_t)all.most)
		return;
	if (!loop_iterations_may_report())
		atomic_fetch_add(&all.unreported, 1);
	else if (all.signo)
		tell(turn, began, now);
	else if (all.outlet)
		all.outlet->tell(loop_iterations_ticks_to_ns(now - began), turn->ready);
}

void loop_iterations_thread_ended(void)
{
	struct turn *turn = loop_iteration_own;

	if (!turn)
		return;
	loop_iteration_own = NULL;
	refused = true; /* destructors of the program's may wait */
	atomic_store_explicit(&turn->ended, true, memory_order_release);
}

struct turn *loop_iteration_of_signal(uintptr_t value)
{
	return value && value == (uintptr_t)loop_iteration_own ? loop_iteration_own : NULL;
}

bool loop_iteration_is_late(const struct turn *turn)
{
	uint64_t began = atomic_load(&turn->began);

	if (!began || began & LOOP_ITERATION_OVER || atomic_load(&turn->watched) != began ||
	    turn->sampled == began)
		return false;
	/* The timer may have been another turn's; and its clock and ours agree to a thousandth. */
	return (int64_t)(clock_ticks() - began) >= (int64_t)(all.most - all.most / 1000);
}

void loop_iteration_sampled(struct turn *turn, size_t depth, bool truncated)
{
	struct thread_context context;
	size_t bytes = thread_context_read(&context);

	memset(turn->context, 0, bytes);
	if (bytes)
		thread_context_write(&context, turn->context);
	turn->context_bytes = (uint16_t)bytes;
	turn->depth = (uint32_t)depth;
	turn->truncated = truncated;
	turn->sampled = atomic_load(&turn->began);
}

void loop_iterations_after_fork(void)
{
	atomic_store(&turns.on, false);
	atomic_store(&turns.asleep, false);
	loop_iterations_set_due(UINT64_MAX);
	for (size_t i = 0;
	     all.any && i < LOOP_ITERATIONS_MAX && atomic_load(&loop_iteration_list[i]); i++) {
		system_unmap(atomic_load(&loop_iteration_list[i]), sizeof(struct turn));
		atomic_store(&loop_iteration_list[i], NULL);
	}
	loop_iteration_own = NULL;
	refused = false;
	all.wake = (struct wake){ 0 };
	atomic_store(&all.told, 0);
	atomic_store(&all.unreported, 0);
}

/* ---- The watcher ---- */

uint64_t loop_iterations_unreported(void)
{
	return atomic_load(&all.unreported);
}

struct wake *loop_iterations_wake(void)
{
	return &all.wake;
}

void loop_iterations_open(uint64_t ns, uint64_t ticks, int signo)
{
	all.limit_ns = ns;
	all.most = ticks;
	all.signo = signo;
	all.opened = clock_ticks();
	atomic_store(&turns.asleep, false);
	atomic_store(&turns.on, true);
}

static void loop_iteration_timer_delete(struct turn *turn)
{
	if (!atomic_exchange(&turn->has_timer, false))
		return;
	atomic_store(&turn->armed, false);
	kernel_call4(SYS_timer_delete, turn->timer, 0, 0, 0);
	signal_share_release();
}

static void loop_iteration_release(struct turn *turn)
{
	loop_iteration_timer_delete(turn);
	atomic_store(&turn->began, 0);
	atomic_store(&turn->watched, 0);
	atomic_store(&turn->ended, false);
	turn->seen = turn->late = turn->sampled = 0;
	atomic_store_explicit(&turn->tid, 0, memory_order_release);
}

static bool loop_iteration_timer_create(struct turn *turn, pid_t tid)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = all.signo,
		.sigev_value.sival_ptr = turn,
	};
	bool made;

	event.sigev_notify_thread_id = tid;
	if (!signal_share_reserve(false))
		return false;
	made = !kernel_call4(SYS_timer_create, CLOCK_MONOTONIC, (long)&event, (long)&turn->timer,
			     0);
	atomic_store(&turn->has_timer, made);
	if (!made)
		signal_share_release();
	return made;
}

static bool loop_iterations_limit_reached(void)
{
	return atomic_load(&all.second) == clock_monotonic_ns() / 1000000000u &&
	       atomic_load(&all.told) >= STALLS_REPORTED_PER_SECOND;
}

/* From now on the thread looks at the time where the turn that BEGAN ends. LEFT ticks from now it is late: the
 * kernel has it take its stack then, whether the watcher has a processor or not. (By a timer: see thread_clock.c.)
 * A turn that ends meanwhile may have seen no timer yet. */
static void loop_iteration_watch(struct turn *turn, uint64_t began, pid_t tid, uint64_t left)
{
	atomic_store(&turn->watched, began);
	if (!all.signo || loop_iterations_limit_reached() ||
	    (!atomic_load(&turn->has_timer) && !loop_iteration_timer_create(turn, tid)))
		return;
	atomic_store(&turn->armed, true);
	loop_iteration_timer_set(turn, loop_iterations_ticks_to_ns(left) + 1);
	if ((atomic_load(&turn->watched) != began || atomic_load(&turn->began) != began) &&
	    atomic_exchange(&turn->armed, false))
		loop_iteration_timer_set(turn, 0);
}

/* A look at one turn. Returns in how many ticks it will be late; UINT64_MAX: it is over, or was seen to be late.
 * *ACTIVE: it is not the one that was there at the last look. */
static uint64_t loop_iteration_check(struct turn *turn, bool *active)
{
	pid_t tid = atomic_load_explicit(&turn->tid, memory_order_acquire);
	uint64_t began = atomic_load_explicit(&turn->began, memory_order_acquire);
	int64_t lasted;
	uint64_t left;

	if (tid && atomic_load_explicit(&turn->ended, memory_order_acquire)) {
		loop_iteration_release(turn);
		return UINT64_MAX;
	}
	if (!tid || began < all.opened)
		return UINT64_MAX;
	*active |= began != turn->seen;
	turn->seen = began;
	if (began & LOOP_ITERATION_OVER || turn->late == began)
		return UINT64_MAX;
	/* (The clocks of two processors may differ by a few ticks.) */
	lasted = (int64_t)(clock_ticks() - began);
	lasted = lasted > 0 ? lasted : 0;
	left = lasted <= (int64_t)all.most ? all.most - (uint64_t)lasted + 1 : 0;
	if (atomic_load(&turn->watched) != began)
		loop_iteration_watch(turn, began, tid, left);
	if (left)
		return all.signo ? UINT64_MAX : left;
	turn->late = began;
	if (system_thread_is_gone(tid))
		loop_iteration_release(turn);
	else if (!all.signo && all.outlet && !loop_iterations_limit_reached())
		all.outlet->sample(tid);
	return UINT64_MAX;
}

/* Turns that begin after this look are none before their time has passed from now on. When none has begun for as
 * long as that, those that begin are asked to wake the watcher. One may just have begun that did not see this yet:
 * that is seen at the next look, to which there is time enough for what it has written to be read here. */
uint64_t loop_iterations_check(void)
{
	uint64_t soonest = UINT64_MAX, ticks, in;
	bool active = false, asleep = atomic_load(&turns.asleep);
	struct turn *turn;

	for (size_t i = 0; i < LOOP_ITERATIONS_MAX && (turn = atomic_load(&loop_iteration_list[i]));
	     i++) {
		ticks = loop_iteration_check(turn, &active);
		soonest = ticks < soonest ? ticks : soonest;
	}
	if (active && all.most < soonest)
		soonest = all.most;
	atomic_store(&turns.asleep, soonest == UINT64_MAX);
	if (soonest != UINT64_MAX)
		in = loop_iterations_ticks_to_ns(soonest);
	else
		in = asleep ? UINT64_MAX : all.limit_ns;
	/* Who has woken it meanwhile may have said so before this. */
	loop_iterations_set_due(in);
	if (wake_is_pending(&all.wake))
		loop_iterations_set_due(all.limit_ns);
	return in;
}

void loop_iterations_close(void)
{
	struct turn *turn;

	atomic_store(&turns.on, false);
	atomic_store(&turns.asleep, false);
	loop_iterations_set_due(UINT64_MAX);
	for (size_t i = 0; i < LOOP_ITERATIONS_MAX && (turn = atomic_load(&loop_iteration_list[i]));
	     i++) {
		loop_iteration_timer_delete(turn);
		if (atomic_load(&turn->ended))
			loop_iteration_release(turn);
	}
}
