/* The program's threads, as async-profiler sees them. */
#include "asyncprof/thread_list.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agent/async_profiler.h"
#include "core/clock.h"
#include "core/own_thread.h"
#include "core/shared.h"
#include "core/system.h"
#include "engine/process/thread_count.h"

/* async-profiler's own threads: one for the wall clock, one that ends recordings, and their successors. */
#define THREADS_MAX 8

/* States of a thread without an id: it may not exist yet, or exists. */
#define STARTING (-1)
#define STARTED  (-2)

/* The kernel lists a thread for a moment after its end; later its id may be reused. */
#define GONE_NS 1000000000u

static struct engine_thread {
	_Atomic pid_t tid; /* 0: free */
	_Atomic uint64_t ended_ns;
	char *stack;      /* with its guard page; of the last thread, until the next one */
	pid_t stack_user; /* 0: no known thread runs on it */
} threads[THREADS_MAX];

/* More than what Java keeps free below its compiled code. */
#define STACK_BYTES ((size_t)1 << 20)

static __thread struct engine_thread *own_place;
static __thread uint64_t own_start_ns; /* 0: unknown */

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

void *async_profiler_thread_stack(struct engine_thread *place, size_t *bytes)
{
	if (place->stack && (!place->stack_user || system_thread_is_gone(place->stack_user)))
		system_unmap(place->stack, ARCH_PAGE_MAX + STACK_BYTES);
	place->stack_user = 0;
	place->stack = system_map(ARCH_PAGE_MAX + STACK_BYTES);
	if (!place->stack)
		return NULL;
	kernel_call4(SYS_mprotect, (long)place->stack, ARCH_PAGE_MAX, PROT_NONE, 0);
	*bytes = STACK_BYTES;
	return place->stack + ARCH_PAGE_MAX;
}

void async_profiler_thread_started(struct engine_thread *place)
{
	if (place) {
		place->stack_user = system_thread();
		atomic_store(&place->tid, system_thread());
	}
	own_place = place;
	own_start_ns = shared->async_profiler ? clock_monotonic_ns() : 0;
}

uint64_t thread_list_own_age_ns(void)
{
	return own_start_ns ? clock_monotonic_ns() - own_start_ns : UINT64_MAX;
}

void async_profiler_thread_created(struct engine_thread *place, bool is_created)
{
	pid_t starting = STARTING;

	if (place)
		atomic_compare_exchange_strong(&place->tid, &starting, is_created ? STARTED : 0);
}

void async_profiler_thread_ended(void)
{
	if (own_place)
		atomic_store(&own_place->ended_ns, clock_monotonic_ns());
	own_place = NULL;
}

/* Return the number of threads that are not the program's. */
static size_t thread_count_others(void)
{
	size_t there = own_thread_count();

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

/* Maximum wait for a thread that is being created. */
#define SETTLE_TRIES 20
#define SETTLE_NS    500000u

bool thread_list_is_only_main(void)
{
	size_t others;

	for (int i = 0; i < SETTLE_TRIES && thread_is_starting(); i++)
		system_sleep(SETTLE_NS);
	others = thread_count_others();
	/* If one of them ended in between, two of the program's may be there. */
	return !thread_is_starting() && thread_count() == others + 1 &&
	       thread_count_others() == others;
}
