/* Duration of event-loop iterations. An iteration is the time from the return of a wait
 * for descriptors (epoll_wait(2), poll(2), select(2) and similar) to the next such wait. One that
 * lasts too long is a stall.
 *
 * The fast path reads the clock once, at the start of an iteration; this is most of its cost. It
 * also reads the time of the scheduler's last tick, and stores a few words in the thread's own
 * memory.
 *
 * * The watcher, an agent thread, checks all iterations when one of them could have become a stall.
 *   For each that still runs it sets a timer. The timer's signal records the thread's stack when
 *   the iteration is late.
 * * At the end of such an iteration the thread reads the clock again. It reports a stall, or disarms
 *   the timer.
 * * If the watcher has missed its deadline, because it got no processor, the thread does this at the
 *   end of every iteration.
 * * While no loop iterates, the watcher sleeps. The first iteration wakes it, and sets its own
 *   timer. */
#ifndef ENGINE_SAMPLE_LOOP_ITERATIONS_H
#define ENGINE_SAMPLE_LOOP_ITERATIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/clock.h"
#include "core/timer/thread_timer.h"
#include "core/wake.h"
#include "engine/sample/ring.h"

/* Flag in a start time: that iteration is over. */
#define LOOP_ITERATION_OVER UINT64_C(1)

/* At most so many stalls of a process are reported per second; the others are counted. */
#define STALLS_REPORTED_PER_SECOND 100

/* State of one thread's iteration. Released when the thread has ended. */
struct loop_iteration {
	_Atomic uint64_t began;   /* start in ticks, with LOOP_ITERATION_OVER; 0: none yet */
	_Atomic uint64_t watched; /* start that the watcher has seen; 0: none */
	_Atomic bool armed;       /* the timer is set for that iteration */
	int ready;                /* result of the wait before the iteration */
	int epoll;                /* epoll descriptor of that wait; -1: none */

	/* Stack and context of the iteration that started at SAMPLED. The thread's own handler
	 * writes them, because the context may be gone at the end of the iteration. */
	uint64_t sampled;
	uint32_t depth;
	uint16_t context_bytes; /* of context, which is the last member */
	bool truncated;

	/* Used by the watcher. */
	uint64_t seen;             /* last seen value of BEGAN */
	uint64_t late;             /* start of the iteration that was found too long */
	struct thread_timer timer; /* also set by the thread */

	_Atomic bool ended; /* the thread has ended or is ending; the watcher releases this state */
	_Atomic pid_t tid;  /* 0: free */
	uint32_t index;
	uintptr_t pcs[SAMPLE_DEPTH_MAX];
	uint64_t context[CONTEXT_BYTES_MAX / 8]; /* a struct context_record */
};

_Static_assert(CONTEXT_BYTES_MAX % 8 == 0, "a context of the maximum length fits");

/* Read by the fast path: a cache line that is rarely written. */
extern struct loop_iterations {
	_Atomic bool on;     /* iterations are recorded */
	_Atomic bool asleep; /* the watcher sleeps until an iteration starts */
	/* Deadline of the watcher's next check, on clock_coarse_ns(); UINT64_MAX: no check is due. */
	_Atomic uint64_t due_ns;
} __attribute__((aligned(64))) loop_iterations;

/* The calling thread's state; NULL before its first iteration. */
extern __thread struct loop_iteration *loop_iteration_own;

/* Slow paths. They preserve errno. */
struct loop_iteration *loop_iteration_acquire(void);
void loop_iteration_wake_watcher(struct loop_iteration *iteration);
void loop_iteration_end_watched(struct loop_iteration *iteration);

/* True if the watcher is late, possibly for lack of a processor. */
static inline bool loop_iterations_are_overdue(void)
{
	uint64_t due = atomic_load_explicit(&loop_iterations.due_ns, memory_order_relaxed);

	return due != UINT64_MAX && clock_coarse_ns() > due;
}

/* The iteration ends, before a wait for descriptors. */
static inline void loop_iteration_end(void)
{
	struct loop_iteration *iteration = loop_iteration_own;
	uint64_t began;

	if (__builtin_expect(!iteration, 1))
		return;
	if (__builtin_expect(atomic_load_explicit(&iteration->watched, memory_order_relaxed) != 0,
			     0) ||
	    __builtin_expect(loop_iterations_are_overdue(), 0))
		loop_iteration_end_watched(iteration);
	began = atomic_load_explicit(&iteration->began, memory_order_relaxed);
	atomic_store_explicit(&iteration->began, began | LOOP_ITERATION_OVER, memory_order_release);
}

/* An iteration starts, after a wait. EPOLL is the descriptor of that wait (-1: no epoll
 * descriptor); READY is its result. */
static inline void loop_iteration_begin(int ready, int epoll)
{
	struct loop_iteration *iteration = loop_iteration_own;

	if (__builtin_expect(!atomic_load_explicit(&loop_iterations.on, memory_order_relaxed), 1))
		return;
	if (__builtin_expect(!iteration, 0)) {
		iteration = loop_iteration_acquire();
		if (!iteration)
			return;
	}
	iteration->ready = ready;
	iteration->epoll = epoll;
	atomic_store_explicit(&iteration->began, clock_ticks() & ~LOOP_ITERATION_OVER,
			      memory_order_release);
	if (__builtin_expect(atomic_load_explicit(&loop_iterations.asleep, memory_order_relaxed),
			     0))
		loop_iteration_wake_watcher(iteration);
}

/* True if a wait for COUNT descriptors, the first of which is FIRST, does not end the iteration.
 * Either it only waits for time, or it is a blocking call within an iteration of an epoll loop, for
 * example for a reply. In nested event loops a wait ends the iteration: the outer loop waits for the
 * inner one's epoll descriptor. */
static inline bool loop_iteration_continues(size_t count, int first)
{
	const struct loop_iteration *iteration = loop_iteration_own;

	return !count ||
	       (count == 1 && iteration && iteration->epoll >= 0 && first != iteration->epoll);
}

/* Output for stalls when another engine samples and the rings are not open. */
struct stall_output {
	/* Request a wall-clock sample of thread TID now, if possible. Called by an agent thread. */
	void (*sample)(pid_t tid);
	/* Report that the calling thread's iteration lasted NS, after a wait that returned READY.
	 * Preserves errno. */
	void (*report)(uint64_t ns, int ready);
};

/* Set the output, before loop_iterations_open(). */
void loop_iterations_set_output(const struct stall_output *output);

/* Called by a thread that ends. */
void loop_iterations_thread_ended(void);

/* Handling of the timer's signal, in the thread that it interrupted; async-signal-safe.
 * loop_iteration_of_signal() returns the thread's state if VALUE belongs to it, else NULL. If loop_iteration_is_late(),
 * the handler writes the stack to iteration->pcs and then calls loop_iteration_sampled(), which adds the thread's
 * context. */
struct loop_iteration *loop_iteration_of_signal(uintptr_t value);
bool loop_iteration_is_late(const struct loop_iteration *iteration);
void loop_iteration_sampled(struct loop_iteration *iteration, size_t depth, bool truncated);

/* Free all states in a forked child. */
void loop_iterations_after_fork(void);

/* The watcher calls the functions below. Its thread may be unknown to the C library.
 *
 * From now on, iterations of more than NS nanoseconds, which are TICKS, are stalls. The signal
 * SIGNO makes a thread record its stack. SIGNO 0: the output takes samples and reports stalls. */
void loop_iterations_open(uint64_t ns, uint64_t ticks, int signo);

/* Check all iterations. Returns the nanoseconds until the next check; UINT64_MAX: wait until woken.
 */
uint64_t loop_iterations_check(void);

/* The wake-up object of the watcher. */
struct wake *loop_iterations_wake(void);

/* Stop recording iterations and delete the timers. */
void loop_iterations_close(void);

/* Stalls that exceeded the limit and were not reported, since the process began. */
uint64_t loop_iterations_unreported(void);

#endif
