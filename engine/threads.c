/* The threads of this process, a slot for each, with its clock. */
#include "engine/threads.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/own_thread.h"
#include "engine/tids.h"

#define BLOCK_SLOTS 256
#define BLOCKS_MAX  256
#define NO_SLOT     UINT32_MAX

/* Stacks of the main thread are looked at no deeper than this below their start. */
#define MAIN_STACK_MAX (64u << 20)

static struct {
	_Atomic bool open;
	struct thread *_Atomic blocks[BLOCKS_MAX];
	_Atomic uint32_t used;  /* slots ever used: the length of the array */
	_Atomic uint32_t count; /* slots in use now */
	/* Top of the stack of free slots: index in the low half, a count against reuse between
	 * load and exchange in the high half. */
	_Atomic uint64_t free;
	/* Unknown threads that the last look saw: such a one may be about to take its slot
	 * itself, and is adopted when the next look sees it again. Agent thread. */
	pid_t *strangers;
	size_t stranger_count;
} all = { .free = NO_SLOT };

static __thread struct thread *own;
static __thread struct asprof_thread_local_data own_local;

static struct thread *slot(uint32_t index)
{
	struct thread *block =
		atomic_load_explicit(&all.blocks[index / BLOCK_SLOTS], memory_order_acquire);

	return block ? &block[index % BLOCK_SLOTS] : NULL;
}

static struct thread *slot_pop(void)
{
	uint64_t top = atomic_load(&all.free), next;
	struct thread *t;

	do {
		if ((uint32_t)top == NO_SLOT)
			return NULL;
		t = slot((uint32_t)top);
		next = ((top >> 32) + 1) << 32 | atomic_load(&t->next_free);
	} while (!atomic_compare_exchange_weak(&all.free, &top, next));
	return t;
}

static void slot_push(struct thread *t)
{
	uint64_t top = atomic_load(&all.free), next;

	do {
		atomic_store(&t->next_free, (uint32_t)top);
		next = ((top >> 32) + 1) << 32 | t->index;
	} while (!atomic_compare_exchange_weak(&all.free, &top, next));
}

/* A slot that was never used. */
static struct thread *slot_new(void)
{
	uint32_t index = atomic_fetch_add(&all.used, 1);
	struct thread *_Atomic *place;
	struct thread *block, *none = NULL;

	if (index >= BLOCK_SLOTS * BLOCKS_MAX) {
		atomic_fetch_sub(&all.used, 1);
		return NULL;
	}
	place = &all.blocks[index / BLOCK_SLOTS];
	if (!atomic_load(place)) {
		block = mmap(NULL, BLOCK_SLOTS * sizeof(*block), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block == MAP_FAILED)
			return NULL; /* the index is lost, which is no harm */
		if (!atomic_compare_exchange_strong(place, &none, block))
			munmap(block, BLOCK_SLOTS * sizeof(*block));
	}
	slot(index)->index = index;
	return slot(index);
}

static struct thread *slot_of(pid_t tid)
{
	for (uint32_t i = 0; i < atomic_load(&all.used); i++) {
		struct thread *t = slot(i);

		if (t && atomic_load(&t->tid) == tid && !atomic_load(&t->ended))
			return t;
	}
	return NULL;
}

/* Whoever takes a slot has it alone until its tid is set. */
static struct thread *slot_take(pid_t tid, bool found)
{
	struct thread *t = slot_pop();

	if (!t)
		t = slot_new();
	if (!t)
		return NULL;
	t->found = found;
	t->stack_low = t->stack_high = t->entry = 0;
	thread_clock_init(&t->clock, tid, (uintptr_t)t);
	atomic_store(&t->local, NULL);
	atomic_store(&t->sampled, false);
	t->wall.known = t->wall.asked = false;
	t->wall.samples = t->wall.owed = 0;
	t->wall.due_ns = 0;
	atomic_store(&t->ended, false);
	atomic_store(&t->tid, tid);
	atomic_fetch_add(&all.count, 1);
	return t;
}

static void slot_give(struct thread *t)
{
	thread_clock_stop(&t->clock);
	atomic_store(&t->tid, 0);
	atomic_fetch_sub(&all.count, 1);
	slot_push(t);
}

int threads_open(const struct thread_timers *timers)
{
	thread_clock_open(timers);
	for (uint32_t i = 0; i < atomic_load(&all.used); i++) {
		struct thread *t = slot(i);

		if (t && atomic_load(&t->tid) && !atomic_load(&t->ended))
			thread_clock_start(&t->clock, false);
	}
	/* Twice, as it takes two looks to adopt; and before any thread takes a slot itself. */
	threads_look();
	threads_look();
	atomic_store(&all.open, true);
	return threads_count() ? 0 : -EAGAIN;
}

void threads_started(uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry)
{
	int saved = errno;
	struct thread *t;

	if (!atomic_load(&all.open) || own || own_thread_is())
		return;
	t = slot_take(gettid(), false);
	if (t) {
		t->stack_low = stack_low;
		t->stack_high = stack_high;
		t->entry = entry;
		atomic_store(&t->local, &own_local);
		own = t;
		thread_clock_start(&t->clock, true);
	}
	errno = saved;
}

/* The program's own calls keep the sampling signal unblocked, so this is a raw one. */
static void block_all_signals(void)
{
	uint64_t every = UINT64_MAX;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &every, NULL, sizeof(every));
}

void threads_ended(void)
{
	int saved = errno;
	struct thread *t = own;

	if (!t && atomic_load(&all.open) && !own_thread_is())
		t = slot_of(gettid()); /* adopted: it came before the engine */
	if (!t)
		return;
	/* From here to its death no signal can bring the slot up again. */
	block_all_signals();
	own = NULL;
	if (atomic_load(&t->sampled))
		prctl(PR_GET_NAME, t->name);
	atomic_store_explicit(&t->ended, true, memory_order_release);
	errno = saved;
}

struct thread *threads_self(void)
{
	return own ? own : slot_of(gettid());
}

struct asprof_thread_local_data *threads_local(void)
{
	struct thread *t = threads_self();

	if (t) /* one that was found by looking makes itself known here */
		atomic_store(&t->local, &own_local);
	return &own_local;
}

void threads_each(void (*visit)(void *context, struct thread *thread), void *context)
{
	uint32_t used = atomic_load(&all.used);

	for (uint32_t i = 0; i < used; i++) {
		struct thread *t = slot(i);

		if (t && atomic_load(&t->tid))
			visit(context, t);
	}
}

void threads_reap(void (*last)(void *context, struct thread *thread), void *context)
{
	uint32_t used = atomic_load(&all.used);

	for (uint32_t i = 0; i < used; i++) {
		struct thread *t = slot(i);

		if (!t || !atomic_load(&t->tid) ||
		    !atomic_load_explicit(&t->ended, memory_order_acquire))
			continue;
		last(context, t);
		slot_give(t);
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

bool threads_owns(uintptr_t address)
{
	uint32_t blocks =
		(atomic_load_explicit(&all.used, memory_order_relaxed) + BLOCK_SLOTS - 1) /
		BLOCK_SLOTS;

	for (uint32_t i = 0; i < blocks && i < BLOCKS_MAX; i++) {
		uintptr_t first =
			(uintptr_t)atomic_load_explicit(&all.blocks[i], memory_order_relaxed);

		if (first && address >= first &&
		    address < first + BLOCK_SLOTS * sizeof(struct thread))
			return (address - first) % sizeof(struct thread) == 0;
	}
	return false;
}

uint32_t threads_count(void)
{
	return atomic_load(&all.count);
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
	struct thread *t = slot_take(tid, true);

	if (!t)
		return;
	if (tid == getpid())
		main_stack(t);
	thread_clock_start(&t->clock, false);
}

void threads_close(void)
{
	atomic_store(&all.open, false);
	for (uint32_t i = 0; i < atomic_load(&all.used); i++) {
		struct thread *t = slot(i);

		if (!t || !atomic_load(&t->tid))
			continue;
		if (t->found || atomic_load(&t->ended))
			slot_give(t);
		else
			thread_clock_stop(&t->clock);
	}
}

static bool number_is_as_known(void)
{
	uint32_t known = own_thread_count();

	for (uint32_t i = 0; i < atomic_load(&all.used); i++) {
		struct thread *t = slot(i);

		known += t && atomic_load(&t->tid) && !atomic_load(&t->ended);
	}
	return tids_are(known);
}

/* Mark in KNOWN those of TIDS that have a slot, and end the found threads that are gone. */
static void match_slots(const pid_t *tids, size_t count, bool *known)
{
	for (uint32_t i = 0; i < atomic_load(&all.used); i++) {
		struct thread *t = slot(i);
		pid_t tid = t ? atomic_load(&t->tid) : 0;
		const pid_t *place;

		if (!tid || atomic_load(&t->ended))
			continue;
		place = tids_find(tids, count, tid);
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
	if (count <= 0)
		return; /* no /proc, or no memory: the next look may do better */
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
