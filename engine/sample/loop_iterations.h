/* Turns of event loops: what a thread does from the return of a wait for descriptors (epoll_wait(2), poll(2),
 * select(2) and their kin) to its next one. A turn that lasts too long is a stall.
 *
 * The two ends of a turn cost one look at the time, which is most of it, one at the scheduler's last tick, and some
 * stores into memory of the thread's own. A watcher of the agent's side looks at all turns when one of them could
 * have become a stall. For each that goes on then it sets a timer, by which that thread alone takes its stack when
 * it is late; at its end the thread looks at the time once more, tells of the stall if it was one, and puts the timer
 * off if not. A turn that ends when the watcher should have looked and did not, for want of a processor, looks at
 * the time for itself. While no loop turns the watcher sleeps; the first turn wakes it, and sets its timer itself. */
#ifndef ENGINE_SAMPLE_LOOP_ITERATIONS_H
#define ENGINE_SAMPLE_LOOP_ITERATIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/clock.h"
#include "core/wake.h"
#include "engine/sample/ring.h"

/* In a time: the turn that began then is over. */
#define LOOP_ITERATION_OVER UINT64_C(1)

/* So many stalls of a process are told in one second; more are counted. */
#define STALLS_REPORTED_PER_SECOND 100

/* Of one thread, for as long as that lives. */
struct turn {
	_Atomic uint64_t began; /* ticks, with LOOP_ITERATION_OVER; 0: there was none */
	_Atomic uint64_t
		watched;    /* the time of the turn that the watcher has seen go on; 0: none */
	_Atomic bool armed; /* its timer is set for that */
	int ready;          /* what the wait before it returned */
	int epoll;          /* where that waited; -1: not at an epoll descriptor */

	/* The stack in the turn that began at SAMPLED, and what the thread was working on, written by its own
	 * handler: at the turn's end it may be working on nothing any more. */
	uint64_t sampled;
	uint32_t depth;
	uint16_t context_bytes; /* of context, which is at the end */
	bool truncated;

	/* The watcher's. */
	uint64_t seen;          /* what BEGAN was last */
	uint64_t late;          /* the time of the turn that was found too long */
	_Atomic bool has_timer; /* which the thread may set, too */
	int timer;

	_Atomic bool ended; /* its thread has, or is about to; the watcher gives it back */
	_Atomic pid_t tid;  /* 0: nobody's */
	uint32_t index;
	uintptr_t pcs[SAMPLE_DEPTH_MAX];
	uint64_t context[CONTEXT_BYTES_MAX / 8]; /* a struct context_record */
};

_Static_assert(CONTEXT_BYTES_MAX % 8 == 0, "one of any length has room");

/* What the fast ways look at: a line of memory that hardly anybody writes to. */
extern struct turns {
	_Atomic bool on;     /* turns are told */
	_Atomic bool asleep; /* the watcher is, and is to be woken when a turn begins */
	_Atomic uint64_t
		due_ns; /* the watcher looks before the last tick is of this time; UINT64_MAX: it need not */
} __attribute__((aligned(64))) turns;

/* The calling thread's; NULL where it had no turn yet. */
extern __thread struct turn *loop_iteration_own;

/* The slow ways. errno is left alone. */
struct turn *loop_iteration_acquire(void);
void loop_iteration_wake_watcher(struct turn *turn);
void loop_iteration_end_watched(struct turn *turn);

/* The watcher should have looked, and may not have had a processor. */
static inline bool loop_iterations_are_overdue(void)
{
	uint64_t due = atomic_load_explicit(&turns.due_ns, memory_order_relaxed);

	return due != UINT64_MAX && clock_coarse_ns() > due;
}

/* Before a wait for descriptors: the turn is over. */
static inline void loop_iteration_end(void)
{
	struct turn *turn = loop_iteration_own;
	uint64_t began;

	if (__builtin_expect(!turn, 1))
		return;
	if (__builtin_expect(atomic_load_explicit(&turn->watched, memory_order_relaxed) != 0, 0) ||
	    __builtin_expect(loop_iterations_are_overdue(), 0))
		loop_iteration_end_watched(turn);
	began = atomic_load_explicit(&turn->began, memory_order_relaxed);
	atomic_store_explicit(&turn->began, began | LOOP_ITERATION_OVER, memory_order_release);
}

/* Behind one, which waited at EPOLL (-1: at descriptors by themselves) and returned READY. */
static inline void loop_iteration_begin(int ready, int epoll)
{
	struct turn *turn = loop_iteration_own;

	if (__builtin_expect(!atomic_load_explicit(&turns.on, memory_order_relaxed), 1))
		return;
	if (__builtin_expect(!turn, 0)) {
		turn = loop_iteration_acquire();
		if (!turn)
			return;
	}
	turn->ready = ready;
	turn->epoll = epoll;
	atomic_store_explicit(&turn->began, clock_ticks() & ~LOOP_ITERATION_OVER,
			      memory_order_release);
	if (__builtin_expect(atomic_load_explicit(&turns.asleep, memory_order_relaxed), 0))
		loop_iteration_wake_watcher(turn);
}

/* Whether a wait at COUNT descriptors, ONE being the first of them, is no end of the turn: it waits for time alone,
 * or it is a call that blocks in a turn of an epoll's, for an answer say. Other loops that turn within one another
 * have the inner one's epoll descriptor among the outer one's. */
static inline bool loop_iteration_continues(size_t count, int one)
{
	const struct turn *turn = loop_iteration_own;

	return !count || (count == 1 && turn && turn->epoll >= 0 && one != turn->epoll);
}

/* How stalls come out where the rings are not open, as another engine takes the samples. */
struct stall_output {
	/* Have thread TID sampled now, for its wall clock, if that can be. In a thread of the agent's. */
	void (*sample)(pid_t tid);
	/* A turn of the calling thread lasted NS, behind a wait that returned READY. errno may change. */
	void (*tell)(uint64_t ns, int ready);
};

/* Which, before loop_iterations_open(). */
void stall_output(const struct stall_output *outlet);

/* In a thread that ends. */
void loop_iterations_thread_ended(void);

/* The signal of TIMER has come to this thread: whether that is by a turn of its own, and whether the turn goes on,
 * so that its stack is wanted in turn->pcs, and then by loop_iteration_sampled(), which adds what the thread is working on.
 * Async-signal-safe. */
struct turn *loop_iteration_of_signal(uintptr_t value);
bool loop_iteration_is_late(const struct turn *turn);
void loop_iteration_sampled(struct turn *turn, size_t depth, bool truncated);

/* In a forked child: there are none. */
void loop_iterations_after_fork(void);

/* The rest is for the watcher, which the C library need not know.
 *
 * From now on turns of more than NS nanoseconds, which are TICKS, are stalls. SIGNO: by which a thread takes its
 * stack; 0: the outlet is to be asked for that, and told of stalls. */
void loop_iterations_open(uint64_t ns, uint64_t ticks, int signo);

/* Look at all turns. Returns in how many nanoseconds to look again; UINT64_MAX: when woken. */
uint64_t loop_iterations_check(void);

/* By which it is woken. */
struct wake *loop_iterations_wake(void);

/* No turn is looked at any more; timers are given back. */
void loop_iterations_close(void);

/* Stalls that were not told, as there were too many, since the process began. */
uint64_t loop_iterations_unreported(void);

#endif
