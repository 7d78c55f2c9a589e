/* The threads of the program, where async-profiler looks for them. */
#include "asyncprof/thread_list.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/own_thread.h"
#include "core/system.h"
#include "engine/process/thread_count.h"

/* async-profiler's own: one for the wall clock, one that ends recordings, and those that follow on them. */
#define THREADS_MAX 8

/* In a place whose thread has no id yet: one that may not be there, and one that is. */
#define STARTING (-1)
#define STARTED  (-2)

/* The kernel has a thread for a moment more than it runs; later its number may be another's. */
#define GONE_NS 1000000000u

static struct engine_thread {
	_Atomic pid_t tid; /* 0: free */
	_Atomic uint64_t ended_ns;
} threads[THREADS_MAX];

static __thread struct engine_thread *own;

static bool thread_exists(const struct engine_thread *t, pid_t tid)
{
	uint64_t ended_ns = atomic_load(&t->ended_ns);

	if (tid <= 0)
		return tid != 0;
	return (!ended_ns || clock_monotonic_ns() - ended_ns < GONE_NS) &&
	       !system_thread_is_gone(tid);
}

struct engine_thread *async_profiler_thread_allocate(void)
{
	for (struct engine_thread *t = threads; t < threads + THREADS_MAX; t++) {
		pid_t tid = atomic_load(&t->tid);

		if (!thread_exists(t, tid) &&
		    atomic_compare_exchange_strong(&t->tid, &tid, STARTING)) {
			atomic_store(&t->ended_ns, 0);
			return t;
		}
	}
	return NULL;
}

void async_profiler_thread_started(struct engine_thread *place)
{
	if (place)
		atomic_store(&place->tid, system_thread());
	own = place;
}

void async_profiler_thread_created(struct engine_thread *place, bool thread_exists)
{
	pid_t starting = STARTING;

	if (place)
		atomic_compare_exchange_strong(&place->tid, &starting, thread_exists ? STARTED : 0);
}

void async_profiler_thread_ended(void)
{
	if (own)
		atomic_store(&own->ended_ns, clock_monotonic_ns());
	own = NULL;
}

/* How many of its own there are. */
static size_t thread_count_engine(void)
{
	size_t there = 0;

	for (const struct engine_thread *t = threads; t < threads + THREADS_MAX; t++)
		there += thread_exists(t, atomic_load(&t->tid));
	return there;
}

static bool thread_is_starting(void)
{
	for (const struct engine_thread *t = threads; t < threads + THREADS_MAX; t++)
		if (atomic_load(&t->tid) == STARTING)
			return true;
	return own_thread_is_starting();
}

bool thread_list_contains(pid_t tid)
{
	for (const struct engine_thread *t = threads; t < threads + THREADS_MAX; t++)
		if (atomic_load(&t->tid) == tid && thread_exists(t, tid))
			return false;
	return !own_thread_has_id(tid);
}

/* How long one is waited for that is being made. */
#define SETTLE_TRIES 20
#define SETTLE_NS    500000u

bool thread_list_is_only_main(void)
{
	for (int i = 0; i < SETTLE_TRIES && thread_is_starting(); i++)
		system_sleep(SETTLE_NS);
	return !thread_is_starting() &&
	       thread_count_is(own_thread_count() + thread_count_engine() + 1);
}
