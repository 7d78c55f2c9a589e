/* Registry of the process's threads. */
#include "engine/sample/threads.h"

#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "core/clock.h"
#include "core/own_thread.h"
#include "core/signal_share.h"
#include "core/system.h"
#include "engine/context/thread_context.h"
#include "engine/context/thread_labels.h"
#include "engine/sample/thread_slots.h"

static _Atomic bool is_open;

/* Visits of the slots, mostly by the agent's thread, that run now. Meanwhile no thread releases its slot: the visitor
 * may use it. */
static _Atomic uint32_t visits;

static __thread struct thread *own;

/* Sample counters, for threads that request theirs. The agent's thread updates them too, and a
 * thread may end meanwhile. Thread-local memory would end with the thread, so the counters are in
 * this table. A late update writes to a free counter, or to another thread's, which takes it for a
 * sample. */
#define LOCALS_MAX 4096

static struct {
	struct asprof_thread_local_data data;
	_Atomic bool taken;
} locals[LOCALS_MAX];

/* The most counters that were in use at once. */
static _Atomic size_t locals_end;

/* The calling thread's counter: an entry of the table or, when that is full, the second one. */
static __thread struct asprof_thread_local_data *own_local;
static __thread struct asprof_thread_local_data spare_local;

static void threads_visit(void (*visit)(struct thread *thread))
{
	struct thread *t;

	atomic_fetch_add(&visits, 1);
	for (uint32_t at = 0; (t = thread_slot_next(&at));)
		if (!atomic_load(&t->ended))
			visit(t);
	atomic_fetch_sub(&visits, 1);
}

static void threads_start_one(struct thread *t)
{
	thread_clock_start(&t->clock, false);
}

void threads_open(const struct thread_timers *timers)
{
	thread_clock_open(timers);
	threads_visit(threads_start_one);
}

static void threads_pause_one(struct thread *t)
{
	thread_clock_pause(&t->clock);
}

/* A thread that starts meanwhile is found later. */
static void threads_pause_all(void)
{
	atomic_store(&is_open, false);
	threads_visit(threads_pause_one);
}

static bool threads_expect_signals(void)
{
	struct thread *t;

	for (uint32_t at = 0; (t = thread_slot_next(&at));)
		if (!atomic_load(&t->ended) && thread_clock_expects_signal(&t->clock))
			return true;
	return false;
}

/* A thread that blocks the signal does not take it. */
#define PAUSE_TRIES 200
#define END_TRIES   10 /* the program ends */
#define PAUSE_NS    500000u

void threads_pause(bool is_end)
{
	int tries = is_end ? END_TRIES : PAUSE_TRIES;

	threads_pause_all();
	while (threads_expect_signals() && tries--)
		system_sleep(PAUSE_NS);
}

void threads_set_interval(uint64_t cpu_interval_ns)
{
	threads_pause_all();
	thread_clock_set_interval(cpu_interval_ns);
	threads_visit(threads_start_one);
	atomic_store(&is_open, true);
}

int threads_admit(void)
{
	atomic_store(&is_open, true);
	return thread_slot_count() ? 0 : -EAGAIN;
}

/* Another slot of T's thread; NULL: none. */
static struct thread *threads_find_other(const struct thread *t)
{
	pid_t tid = atomic_load(&t->tid);
	struct thread *other;

	for (uint32_t at = 0; (other = thread_slot_next(&at));)
		if (other != t && atomic_load(&other->tid) == tid && !atomic_load(&other->ended))
			return other;
	return NULL;
}

/* Thread ids that were ever adopted, modulo the number of bits. A thread that registers itself scans the slots only if
 * its bit is set. */
#define ADOPTED_BITS 4096u
static _Atomic uint64_t adopted[ADOPTED_BITS / 64];

static bool thread_was_adopted(pid_t tid)
{
	uint32_t bit = (uint32_t)tid % ADOPTED_BITS;

	return atomic_load(&adopted[bit / 64]) >> bit % 64 & 1;
}

static void thread_set_adopted(pid_t tid)
{
	uint32_t bit = (uint32_t)tid % ADOPTED_BITS;

	atomic_fetch_or(&adopted[bit / 64], UINT64_C(1) << bit % 64);
}

/* A scan may have found the thread before it registers itself: only its own slot stays. */
static void threads_end_found(const struct thread *t)
{
	struct thread *found =
		thread_was_adopted(atomic_load(&t->tid)) ? threads_find_other(t) : NULL;

	if (found)
		atomic_store(&found->ended, true);
}

void threads_started(pid_t tid, uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry)
{
	struct thread *t;

	if (!atomic_load(&is_open) || own || own_thread_is())
		return;
	t = thread_slot_acquire(tid, false);
	if (!t) {
		signal_share_count_refused(tid, -ENOMEM); /* without a slot there is no timer */
		return;
	}
	t->stack_low = stack_low;
	t->stack_high = stack_high;
	t->entry = entry;
	own = t;
	threads_end_found(t);
	thread_clock_start(&t->clock, true);
}

static void threads_raise_locals_end(size_t end)
{
	size_t was = atomic_load(&locals_end);

	while (was < end && !atomic_compare_exchange_weak(&locals_end, &was, end))
		;
}

static struct asprof_thread_local_data *threads_acquire_local(void)
{
	for (size_t i = 0; i < LOCALS_MAX; i++)
		if (!atomic_load_explicit(&locals[i].taken, memory_order_relaxed) &&
		    !atomic_exchange(&locals[i].taken, true)) {
			threads_raise_locals_end(i + 1);
			return &locals[i].data;
		}
	return &spare_local;
}

static bool local_is_in_table(const struct asprof_thread_local_data *local)
{
	return (uintptr_t)local - (uintptr_t)locals < sizeof(locals);
}

static void threads_release_local(void)
{
	if (local_is_in_table(own_local))
		atomic_store(
			&locals[((uintptr_t)own_local - (uintptr_t)locals) / sizeof(*locals)].taken,
			false);
	own_local = NULL;
}

void threads_counted(struct thread *t, uint64_t ticks)
{
	struct asprof_thread_local_data *local = atomic_load(&t->local);

	if (local_is_in_table(local))
		__atomic_store_n(&local->sample_counter, ticks, __ATOMIC_RELAXED);
}

static void threads_note_end(struct thread *t)
{
	struct rusage usage;

	kernel_call4(SYS_prctl, PR_GET_NAME, (long)t->name, 0, 0);
	if (kernel_call4(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0))
		return;
	t->end.ticks = clock_ticks();
	t->end.cpu_ns = clock_cpu_ns();
	t->end.major_faults = (uint64_t)usage.ru_majflt;
	t->end.voluntary_switches = (uint64_t)usage.ru_nvcsw;
	t->end.involuntary_switches = (uint64_t)usage.ru_nivcsw;
}

/* The calling thread releases its slot T, which is in its cache, if no visit has seen it. Otherwise the agent's thread
 * does. */
static void threads_leave(struct thread *t)
{
	atomic_store(&t->ended, SLOT_LEFT);
	if (atomic_load(&visits) || atomic_load(&t->is_known))
		atomic_store(&t->ended, SLOT_ENDED);
	else
		thread_slot_release(t);
}

void threads_ended(void)
{
	struct thread *t = own;

	if (!t && atomic_load(&is_open) && !own_thread_is())
		t = thread_slot_find(system_thread()); /* adopted: it started before the engine */
	if (!t)
		return;
	own = NULL;
	if (atomic_load(&t->sampled))
		threads_note_end(t);
	if (t->found || atomic_load(&t->sampled))
		atomic_store(&t->ended, SLOT_ENDED);
	else
		threads_leave(t);
	threads_release_local(); /* no later sample uses the counter */
}

struct thread *threads_self_by_tid(pid_t tid)
{
	return own ? own : thread_slot_find(tid);
}

struct thread *threads_self(void)
{
	return own ? own : thread_slot_find(system_thread());
}

bool threads_is_self(const struct thread *t)
{
	struct thread *self = own;

	if (self)
		return self == t;
	return atomic_load(&t->tid) == system_thread() && !atomic_load(&t->ended);
}

struct asprof_thread_local_data *threads_local(void)
{
	struct thread *t = threads_self();

	if (!own_local)
		own_local = threads_acquire_local();
	if (t)
		atomic_store(&t->local, own_local);
	return own_local;
}

void threads_each(void (*visit)(void *context, struct thread *thread), void *context)
{
	struct thread *t;

	atomic_fetch_add(&visits, 1);
	for (uint32_t at = 0; (t = thread_slot_next(&at));) {
		if (atomic_load(&t->ended) == SLOT_LEFT)
			continue;
		if (!atomic_load_explicit(&t->is_known, memory_order_relaxed))
			atomic_store(&t->is_known, true);
		visit(context, t);
	}
	atomic_fetch_sub(&visits, 1);
}

void threads_reap(void (*last)(void *context, struct thread *thread), void *context)
{
	struct thread *t;

	for (uint32_t at = 0; (t = thread_slot_next(&at));) {
		if (atomic_load(&t->ended) != SLOT_ENDED)
			continue;
		last(context, t);
		thread_slot_release(t);
	}
}

static void threads_disarm_one(void *context, struct thread *t)
{
	(void)context;
	thread_clock_disarm(&t->clock);
}

void threads_disarm(void)
{
	thread_clock_forbid();
	threads_each(threads_disarm_one, NULL);
}

void threads_adopt(pid_t tid, uintptr_t stack_low, uintptr_t stack_high)
{
	struct thread *t;

	thread_set_adopted(tid); /* before the slot is visible */
	t = thread_slot_acquire(tid, true);
	if (!t)
		return;
	t->stack_low = stack_low;
	t->stack_high = stack_high;
	if (threads_find_other(t)) /* it has registered itself meanwhile */
		atomic_store(&t->ended, true);
	else
		thread_clock_start(&t->clock, false);
}

void threads_after_fork(void)
{
	size_t end = atomic_load(&locals_end);

	atomic_store(&is_open, false);
	atomic_store(&visits, 0);
	own = NULL;
	thread_context_places(NULL, 0);
	thread_labels_after_fork();
	thread_slots_after_fork();
	for (size_t i = 0; i < end; i++)
		if (&locals[i].data != own_local && atomic_load(&locals[i].taken))
			atomic_store(&locals[i].taken, false);
}

void threads_close(void)
{
	struct thread *t;

	atomic_store(&is_open, false);
	atomic_fetch_add(&visits, 1);
	for (uint32_t at = 0; (t = thread_slot_next(&at));) {
		uint8_t ended = atomic_load(&t->ended);

		if (ended == SLOT_IN_USE)
			thread_clock_stop(&t->clock);
		if (ended == SLOT_ENDED || (ended == SLOT_IN_USE && t->found))
			thread_slot_release(t);
	}
	atomic_fetch_sub(&visits, 1);
}
