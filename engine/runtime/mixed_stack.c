/* Stacks in which the functions that an interpreter runs stand in its place. */
#include "engine/runtime/mixed_stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/system.h"
#include "engine/reading/stack_memory.h"
#include "engine/unwind/unwind.h"

#define DEPTH_MAX 1024

/* Room for a walk, of which a handler's stack has none. */
struct work {
	uintptr_t pcs[DEPTH_MAX], sps[DEPTH_MAX], frames[DEPTH_MAX];
	struct python_work python;
};

#define WORKS 64

static struct {
	const struct python *_Atomic python; /* NULL: nothing is looked for */
	struct work *works;
	_Atomic uint64_t used; /* one bit for each */
} all;

_Static_assert(WORKS == 8 * sizeof(all.used), "one bit for each room");

/* What is replaced may be in use: each stays, and there are few. */
#define PYTHONS_MAX 16

int mixed_stack_python(const struct python *python)
{
	static struct python kept[PYTHONS_MAX];
	static size_t count;
	size_t i;

	if (!python) {
		atomic_store(&all.python, NULL);
		return 0;
	}
	if (!all.works)
		all.works = system_map(WORKS * sizeof(*all.works));
	if (!all.works || frame_table_open())
		return -ENOMEM;
	for (i = 0; i < count && memcmp(&kept[i], python, sizeof(*python)); i++)
		;
	if (i == PYTHONS_MAX)
		return -ENOMEM;
	if (i == count)
		kept[count++] = *python;
	atomic_store_explicit(&all.python, &kept[i], memory_order_release);
	return 0;
}

void mixed_stack_several(bool several)
{
	atomic_store_explicit(&python_has_several, several, memory_order_relaxed);
}

void mixed_stack_after_fork(void)
{
	atomic_store(&all.python, NULL);
	atomic_store(&all.used, 0);
	mixed_stack_several(false);
}

/* NULL when all are in use. */
static struct work *work_take(void)
{
	uint64_t used = atomic_load_explicit(&all.used, memory_order_relaxed), bit;

	do {
		if (used == UINT64_MAX)
			return NULL;
		bit = ~used & (used + 1); /* the lowest that is free */
	} while (!atomic_compare_exchange_weak_explicit(
		&all.used, &used, used | bit, memory_order_acquire, memory_order_relaxed));
	return &all.works[__builtin_ctzll(bit)];
}

static void work_give(struct work *work)
{
	uint64_t bit = UINT64_C(1) << (work - all.works);

	atomic_fetch_and_explicit(&all.used, ~bit, memory_order_release);
}

/* ---- Merging ---- */

struct merge {
	const uintptr_t *pcs, *sps;
	size_t count, at; /* native frames, and how many of them are placed */
	uintptr_t *out;
	size_t length, max;
};

static void put(struct merge *m, uintptr_t frame)
{
	if (m->length < m->max)
		m->out[m->length] = frame;
	m->length++;
}

static bool is_evaluator(const struct python *python, uintptr_t pc)
{
	return pc > python->evaluator && pc <= python->evaluator_end;
}

/* The native frame, from the next on, that ADDRESS is in; or COUNT. Where the last one ends nobody
 * knows. */
static size_t native_with(const struct merge *m, const struct python *python, uintptr_t address)
{
	size_t i = m->at;

	while (i + 1 < m->count && !(address >= m->sps[i] && address < m->sps[i + 1]))
		i++;
	if (i + 1 == m->count && !(address >= m->sps[i] && is_evaluator(python, m->pcs[i])))
		i++;
	return i;
}

static size_t native_evaluator(const struct merge *m, const struct python *python)
{
	size_t i = m->at;

	while (i < m->count && !is_evaluator(python, m->pcs[i]))
		i++;
	return i;
}

/* Without addresses calls of the evaluator are told apart by their order alone. When one more of them
 * is on the stack than there are frames, the innermost has not begun with its own. */
static bool begins(const struct merge *m, const struct python *python, const uintptr_t *frames,
		   size_t count)
{
	size_t calls = 0;

	for (size_t i = 0; i < m->count; i++)
		calls += is_evaluator(python, m->pcs[i]);
	for (size_t i = 0; i < count; i++)
		calls -= frames[i] & PYTHON_ANCHOR;
	return calls == 1 && m->count && is_evaluator(python, m->pcs[0]);
}

size_t mixed_stack_merge(const struct python *python, const uintptr_t *pcs, const uintptr_t *sps,
			 size_t count, const uintptr_t *frames, size_t frame_count, uintptr_t *out,
			 size_t max, bool *truncated)
{
	struct merge m = { .pcs = pcs, .sps = sps, .count = count, .out = out, .max = max };
	bool anchored = true, placed = false;
	size_t end, native;

	for (size_t i = 0; i < frame_count; i++)
		anchored &= frames[i] != PYTHON_ANCHOR;
	if (!anchored && begins(&m, python, frames, frame_count))
		m.at++;
	for (size_t begin = 0; begin < frame_count; begin = end + 1) {
		for (end = begin; end < frame_count && !(frames[end] & PYTHON_ANCHOR); end++)
			;
		if (end == frame_count)
			native = m.count;
		else if (anchored)
			native = native_with(&m, python, frames[end] & ~PYTHON_ANCHOR);
		else
			native = native_evaluator(&m, python);
		/* A call that runs none yet, or the state's own end. */
		if (begin == end)
			continue;
		/* A call that has not begun with its frames, or has done with them, says nothing. */
		for (; m.at < native; m.at++)
			if (placed || !is_evaluator(python, m.pcs[m.at]))
				put(&m, m.pcs[m.at]);
		placed = true;
		/* Where the walk lost its way before, they are what is left. */
		m.at += m.at < m.count;
		for (size_t i = begin; i < end; i++)
			put(&m, frames[i]);
	}
	while (m.at < m.count)
		put(&m, m.pcs[m.at++]);
	*truncated |= m.length > max;
	return m.length < max ? m.length : max;
}

/* ---- Walking ---- */

static bool comes_through(const struct python *python, const uintptr_t *pcs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (pcs[i] - python->text < python->text_end - python->text)
			return true;
	return false;
}

/* Replace what COUNT native frames PCS, whose stack pointers are in WORK, have of Python. */
static size_t mix(const struct python *python, struct work *work, uintptr_t stack_high,
		  uintptr_t *pcs, size_t count, size_t max, bool *truncated)
{
	struct memory_reader stack = { .block = &work->python.stack_block };
	size_t frames;

	if (!comes_through(python, pcs, count))
		return count;
	memory_block_init(&work->python.stack_block);
	stack_memory_move(&stack, work->sps[0], stack_high);
	frames = python_walk(python, &work->python, &stack, work->frames, DEPTH_MAX);
	if (!frames)
		return count;
	memcpy(work->pcs, pcs, count * sizeof(*pcs));
	return mixed_stack_merge(python, work->pcs, work->sps, count, work->frames, frames, pcs,
				 max, truncated);
}

size_t mixed_stack_context(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs, size_t max,
			   bool *truncated)
{
	const struct python *python = atomic_load_explicit(&all.python, memory_order_acquire);
	struct work *work = python ? work_take() : NULL;
	size_t count;

	if (__builtin_expect(!work, 1))
		return unwind_context(ucontext, stack_high, pcs, max, truncated);
	if (max > DEPTH_MAX)
		max = DEPTH_MAX;
	count = unwind_context_sps(ucontext, stack_high, pcs, work->sps, max, truncated);
	count = mix(python, work, stack_high, pcs, count, max, truncated);
	work_give(work);
	return count;
}

/* Not inlined, and never left by a jump: its own frame is one of those that are skipped. */
__attribute__((noinline)) size_t mixed_stack_here(uintptr_t stack_high, size_t skip, uintptr_t *pcs,
						  size_t max, bool *truncated)
{
	const struct python *python = atomic_load_explicit(&all.python, memory_order_acquire);
	struct work *work = python ? work_take() : NULL;
	size_t count;

	if (max > DEPTH_MAX)
		max = DEPTH_MAX;
	count = unwind_here_sps(stack_high, skip + 1, pcs, work ? work->sps : NULL, max, truncated);
	__asm__ volatile("" ::: "memory"); /* keeps the call from becoming a jump */
	if (__builtin_expect(work != NULL, 0)) {
		count = mix(python, work, stack_high, pcs, count, max, truncated);
		work_give(work);
	}
	return count;
}
