/* The threads of this process, a slot for each, with its clock. */
#include "engine/sample/threads.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/own_thread.h"
#include "engine/process/tids.h"
#include "engine/sample/thread_slots.h"

/* Stacks of the main thread are looked at no deeper than this below their start. */
#define MAIN_STACK_MAX (64u << 20)

static struct {
	_Atomic bool open;
	/* Unknown threads that the last look saw: such a one may be about to take its slot
	 * itself, and is adopted when the next look sees it again. Agent thread. */
	pid_t *strangers;
	size_t stranger_count;
} all;

static __thread struct thread *own;

/* Counters of samples, for the threads that ask for theirs. The agent thread moves them too, and a
 * thread may end meanwhile: so they are no thread-local data, whose memory goes with the thread.
 * One that is written to late is free, or another thread's, which takes it for a sample. */
#define LOCALS_MAX 4096

static struct {
	struct asprof_thread_local_data data;
	_Atomic bool taken;
} locals[LOCALS_MAX];

/* The calling thread's: one of those or, where all are taken, the second. */
static __thread struct asprof_thread_local_data *own_local;
static __thread struct asprof_thread_local_data spare_local;

int threads_open(const struct thread_timers *timers)
{
	struct thread *t;

	thread_clock_open(timers);
	for (uint32_t at = 0; (t = thread_slot_next(&at));)
		if (!atomic_load(&t->ended))
			thread_clock_start(&t->clock, false);
	/* Twice, as it takes two looks to adopt; and before any thread takes a slot itself. */
	threads_look();
	threads_look();
	atomic_store(&all.open, true);
	return thread_slot_count() ? 0 : -EAGAIN;
}

void threads_started(uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry)
{
	int saved = errno;
	struct thread *t;

	if (!atomic_load(&all.open) || own || own_thread_is())
		return;
	t = thread_slot_take(gettid(), false);
	if (t) {
		t->stack_low = stack_low;
		t->stack_high = stack_high;
		t->entry = entry;
		own = t;
		thread_clock_start(&t->clock, true);
	}
	errno = saved;
}

static struct asprof_thread_local_data *take_local(void)
{
	for (size_t i = 0; i < LOCALS_MAX; i++)
		if (!atomic_load_explicit(&locals[i].taken, memory_order_relaxed) &&
		    !atomic_exchange(&locals[i].taken, true))
			return &locals[i].data;
	return &spare_local;
}

static bool is_lasting(const struct asprof_thread_local_data *local)
{
	return (uintptr_t)local - (uintptr_t)locals < sizeof(locals);
}

static void give_local(void)
{
	if (is_lasting(own_local))
		atomic_store(
			&locals[((uintptr_t)own_local - (uintptr_t)locals) / sizeof(*locals)].taken,
			false);
	own_local = NULL;
}

void threads_counted(struct thread *t, uint64_t ticks)
{
	struct asprof_thread_local_data *local = atomic_load(&t->local);

	if (is_lasting(local))
		__atomic_store_n(&local->sample_counter, ticks, __ATOMIC_RELAXED);
}

void threads_ended(void)
{
	int saved = errno;
	struct thread *t = own;

	if (!t && atomic_load(&all.open) && !own_thread_is())
		t = thread_slot_of(gettid()); /* adopted: it came before the engine */
	if (!t)
		return;
	own = NULL;
	if (atomic_load(&t->sampled))
		prctl(PR_GET_NAME, t->name);
	atomic_store_explicit(&t->ended, true, memory_order_release);
	give_local(); /* no sample counts there any more */
	errno = saved;
}

struct thread *threads_self_by(pid_t tid)
{
	return own ? own : thread_slot_of(tid);
}

struct thread *threads_self(void)
{
	return own ? own : thread_slot_of(gettid());
}

bool threads_is_self(const struct thread *t)
{
	struct thread *self = own;

	if (self)
		return self == t;
	return atomic_load(&t->tid) == gettid() && !atomic_load(&t->ended);
}

struct asprof_thread_local_data *threads_local(void)
{
	struct thread *t = threads_self();

	if (!own_local)
		own_local = take_local();
	if (t)
		atomic_store(&t->local, own_local);
	return own_local;
}

void threads_each(void (*visit)(void *context, struct thread *thread), void *context)
{
	struct thread *t;

	for (uint32_t at = 0; (t = thread_slot_next(&at));)
		visit(context, t);
}

void threads_reap(void (*last)(void *context, struct thread *thread), void *context)
{
	struct thread *t;

	for (uint32_t at = 0; (t = thread_slot_next(&at));) {
		if (!atomic_load_explicit(&t->ended, memory_order_acquire))
			continue;
		last(context, t);
		thread_slot_give(t);
	}
}

static void disarm(void *context, struct thread *t)
{
	(void)context;
	thread_clock_disarm(&t->clock);
}

void threads_disarm(void)
{
	thread_clock_forbid();
	threads_each(disarm, NULL);
}

/* The main thread's stack begins below the strings of the environment and grows as deep as its
 * limit; the kernel keeps other mappings out of that room. */
static void main_stack(struct thread *t)
{
	uintptr_t top = getauxval(AT_EXECFN);
	struct rlimit limit;

	if (!top || getrlimit(RLIMIT_STACK, &limit))
		return;
	t->stack_high = top & ~(uintptr_t)15;
	t->stack_low = top - (limit.rlim_cur < MAIN_STACK_MAX ? limit.rlim_cur : MAIN_STACK_MAX);
}

static void adopt(pid_t tid)
{
	struct thread *t = thread_slot_take(tid, true);

	if (!t)
		return;
	if (tid == getpid())
		main_stack(t);
	thread_clock_start(&t->clock, false);
}

void threads_close(void)
{
	struct thread *t;

	atomic_store(&all.open, false);
	for (uint32_t at = 0; (t = thread_slot_next(&at));) {
		if (t->found || atomic_load(&t->ended))
			thread_slot_give(t);
		else
			thread_clock_stop(&t->clock);
	}
}

static bool number_is_as_known(void)
{
	uint32_t known = own_thread_count();
	struct thread *t;

	for (uint32_t at = 0; (t = thread_slot_next(&at));)
		known += !atomic_load(&t->ended);
	return tids_are(known);
}

/* Mark in KNOWN those of TIDS that have a slot, and end the found threads that are gone. */
static void match_slots(const pid_t *tids, size_t count, bool *known)
{
	const pid_t *place;
	struct thread *t;

	for (uint32_t at = 0; (t = thread_slot_next(&at));) {
		if (atomic_load(&t->ended))
			continue;
		place = tids_find(tids, count, atomic_load(&t->tid));
		if (place)
			known[place - tids] = true;
		else if (t->found)
			atomic_store(&t->ended, true);
	}
}

void threads_look(void)
{
	pid_t *tids = NULL, *strangers = NULL;
	size_t stranger_count = 0;
	bool *known = NULL;
	ssize_t count;

	if (number_is_as_known())
		return;
	count = tids_list(&tids);
	if (count <= 0) {
		/* A program that has changed its root may have no /proc: then the main thread, and
		 * those that begin from now on. Without memory the next look may do better. */
		if (count == -ENOENT && !thread_slot_of(getpid()))
			adopt(getpid());
		return;
	}
	known = calloc((size_t)count, sizeof(*known));
	strangers = calloc((size_t)count, sizeof(*strangers));
	if (!known || !strangers)
		goto out;
	match_slots(tids, (size_t)count, known);
	for (size_t i = 0; i < (size_t)count; i++) {
		if (known[i] || own_thread_known(tids[i]))
			continue;
		if (tids_find(all.strangers, all.stranger_count, tids[i]))
			adopt(tids[i]);
		else
			strangers[stranger_count++] = tids[i];
	}
	free(all.strangers);
	all.strangers = strangers;
	all.stranger_count = stranger_count;
	strangers = NULL;
out:
	free(strangers);
	free(known);
	free(tids);
}
