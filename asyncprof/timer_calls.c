/* Replacements for the timer calls by which async-profiler samples CPU time. */
#include "asyncprof/timer_calls.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "asyncprof/thread_list.h"
#include "core/clock.h"
#include "core/memory/index_stack.h"
#include "core/own_thread.h"
#include "core/timer/cpu_timer.h"
#include "core/signal_share.h"
#include "core/system.h"

/* Blocks are kept for later threads. */
#define BLOCK_TIMERS 256u
#define BLOCKS_MAX   256u

struct entry {
	struct cpu_timer timer;
	_Atomic pid_t tid;          /* 0: free */
	_Atomic uint32_t next_free; /* the next free entry */
};

/* Entries are numbered from 1. */
static struct {
	struct entry *_Atomic blocks[BLOCKS_MAX];
	_Atomic uint32_t used; /* entries that were ever used */
	struct index_stack free;
} thread_timers;

/* Threads in timer_calls_create(). */
static _Atomic uint32_t creating;

static struct entry *entry_at(uint64_t number)
{
	struct entry *block = NULL;
	uint64_t index = number - 1;

	if (index < BLOCKS_MAX * BLOCK_TIMERS)
		block = atomic_load(&thread_timers.blocks[index / BLOCK_TIMERS]);
	return block ? &block[index % BLOCK_TIMERS] : NULL;
}

/* Return an entry that was never used; 0 when there is none. */
static uint32_t entry_new(void)
{
	uint32_t number = atomic_load(&thread_timers.used);
	struct entry *block, *none;

	do {
		if (number >= BLOCKS_MAX * BLOCK_TIMERS)
			return 0;
		if (entry_at(number + 1))
			continue;
		block = system_map(BLOCK_TIMERS * sizeof(*block));
		if (!block)
			return 0;
		none = NULL;
		if (!atomic_compare_exchange_strong(&thread_timers.blocks[number / BLOCK_TIMERS],
						    &none, block))
			system_unmap(block, BLOCK_TIMERS * sizeof(*block));
	} while (!atomic_compare_exchange_weak(&thread_timers.used, &number, number + 1));
	return number + 1;
}

static _Atomic uint32_t *entry_next(uint32_t number)
{
	return &entry_at(number)->next_free;
}

static uint32_t entry_allocate(void)
{
	uint32_t number = index_stack_pop(&thread_timers.free, entry_next);

	return number ? number : entry_new();
}

static void entry_free(uint32_t number)
{
	index_stack_push(&thread_timers.free, entry_next, number);
}

/* A thread creates its own timer at its start, or when it attaches to Java. */
#define NEW_MAX_NS 1000000u

/* A thread cannot use more CPU time than has passed, and the CPU clock costs a system call. */
static bool timer_is_new(const struct cpu_timer *timer)
{
	return timer->signal.tid == system_thread() &&
	       (thread_list_own_age_ns() < NEW_MAX_NS || clock_cpu_ns() < NEW_MAX_NS);
}

static long fail_with_errno(int err)
{
	errno = err;
	return -1;
}

/* When a thread creates its own timer, timer_calls_set() creates the kernel's timer: it knows whether a timer of the
 * CPU clock is needed. For other threads, which come first, async-profiler must know of a failure. */
static int timer_prepare(struct cpu_timer *timer, const struct timer_signal *signal)
{
	cpu_timer_init(timer, signal);
	return signal->tid == system_thread() ? 0 : cpu_timer_create(timer);
}

static long entry_create_timer(const struct sigevent *event, int *id)
{
	uint32_t number = entry_allocate();
	struct timer_signal signal = { .tid = event->sigev_notify_thread_id,
				       .signo = event->sigev_signo,
				       .value = number };
	int err;

	if (!number)
		return fail_with_errno(EAGAIN);
	err = timer_prepare(&entry_at(number)->timer, &signal);
	if (err) {
		signal_share_count_refused(signal.tid, err);
		entry_free(number);
		return fail_with_errno(-err);
	}
	atomic_store(&entry_at(number)->tid, signal.tid);
	*id = (int)number;
	return 0;
}

long timer_calls_create(long event, long id)
{
	static _Atomic bool is_seeded;
	long result;

	if (!atomic_exchange(&is_seeded, true))
		cpu_timer_seed();
	atomic_fetch_add(&creating, 1);
	result = signal_share_is_closed()
			 ? fail_with_errno(EAGAIN)
			 : entry_create_timer((const struct sigevent *)event, (int *)id);
	atomic_fetch_sub(&creating, 1);
	return result;
}

long timer_calls_set(long id, long when)
{
	const struct timespec *period = &((const struct itimerspec *)when)->it_interval;
	struct entry *entry = entry_at((uint64_t)id);
	int err;

	if (!entry)
		return fail_with_errno(EINVAL);
	err = cpu_timer_start(&entry->timer, clock_time_ns(period), timer_is_new(&entry->timer));
	if (!err)
		return 0;
	signal_share_count_refused(entry->timer.signal.tid, err);
	return fail_with_errno(-err);
}

long timer_calls_delete(long id)
{
	struct entry *entry = entry_at((uint64_t)id);

	if (!entry)
		return fail_with_errno(EINVAL);
	atomic_store(&entry->tid, 0);
	/* async-profiler's thread stops all; other threads call this at their end. */
	if (own_thread_is())
		cpu_timer_stop(&entry->timer);
	else
		cpu_timer_stop_own(&entry->timer);
	entry_free((uint32_t)id);
	return 0;
}

/* Wait for a thread that has created a timer until it has stored the id. */
#define NOTED_NS    200000u
#define NOTED_TRIES 1000

void timer_calls_refuse_new(void)
{
	int tries = NOTED_TRIES;

	signal_share_close();
	do
		system_sleep(NOTED_NS);
	while (atomic_load(&creating) && --tries);
}

void timer_calls_stop_all(void)
{
	struct entry *entry;

	timer_calls_refuse_new();
	for (uint32_t number = 1; number <= atomic_load(&thread_timers.used); number++) {
		entry = entry_at(number);
		if (atomic_exchange(&entry->tid, 0))
			cpu_timer_stop(&entry->timer);
	}
}

struct cpu_timer *timer_calls_find(uintptr_t value)
{
	struct entry *entry = entry_at(value);

	return entry && atomic_load(&entry->tid) == system_thread() ? &entry->timer : NULL;
}
