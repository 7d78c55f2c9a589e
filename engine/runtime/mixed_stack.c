/* Merges the frames of interpreters into native stacks. */
#include "engine/runtime/mixed_stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"
#include "core/cost.h"
#include "core/memory/account.h"
#include "core/preload_code.h"
#include "core/system.h"
#include "engine/reading/stack_memory.h"
#include "engine/runtime/jvm/jvm.h"
#include "engine/runtime/perl/perl.h"
#include "engine/runtime/php/php.h"
#include "engine/runtime/python/python.h"
#include "engine/runtime/ruby/ruby.h"
#include "engine/runtime/v8/v8.h"
#include "engine/unwind/unwind.h"

#define DEPTH_MAX 1024

/* Workspace of one walk; the stack of a handler is too small for it. */
struct work {
	_Atomic uint32_t times; /* number of uses */
	uint32_t times_before;  /* value of times at the last renewal of the frame table */
	/* ucontext_t of the interrupted thread; NULL if the thread called the walk itself. */
	const void *context;
	uintptr_t pcs[DEPTH_MAX], sps[DEPTH_MAX], fps[DEPTH_MAX], frames[DEPTH_MAX];
	union {
		struct python_work python;
		struct {
			struct v8_work v8;
			struct memory_block v8_stack;
		};
		struct ruby_work ruby;
		struct php_work php;
		struct perl_work perl;
	};
};

#define WORKS 64

static struct {
	const struct runtime *_Atomic runtimes[RUNTIME_KINDS]; /* NULL: not searched for */
	atomic_bool any;
	struct work *works;
	_Atomic uint32_t touched; /* number of workspaces that were ever used, from the first on */
	_Atomic uint64_t used;    /* one bit per workspace */
	uint64_t used_before;     /* value of used at the last renewal of the frame table */
} mixed_stack;

_Static_assert(WORKS == 8 * sizeof(mixed_stack.used), "one bit per workspace");

/* A replaced runtime may be in use, so it is kept. If many were replaced, its room is used again when no walk is in
 * progress; then all later walks find the current ones. */
#define KEPT_MAX 16

static struct kept {
	_Alignas(struct runtime) uint8_t bytes[RUNTIME_BYTES];
} kept[KEPT_MAX];

/* Number of checks whether a walk is in progress. A walk takes some microseconds, unless it is preempted. */
#define IDLE_CHECKS_MAX 1000

static void set_java_range(const struct runtime *runtime)
{
	if (runtime && !((const struct jvm *)runtime)->has_names)
		unwind_set_java(runtime->text, runtime->text_end);
	else
		unwind_set_java(0, 0);
}

static void set_runtime(enum runtime_kind kind, const struct runtime *runtime)
{
	bool any = false;

	/* In the total order with work_acquire(): see kept_reuse(). */
	atomic_store(&mixed_stack.runtimes[kind], runtime);
	if (kind == RUNTIME_JVM)
		set_java_range(runtime);
	for (size_t i = 0; i < RUNTIME_KINDS; i++)
		any |= atomic_load(&mixed_stack.runtimes[i]) != NULL;
	atomic_store_explicit(&mixed_stack.any, any, memory_order_release);
}

static uint64_t unused_bytes(void)
{
	uint64_t works = mixed_stack.works ? WORKS - atomic_load(&mixed_stack.touched) : 0;

	return works * sizeof(struct work) + frame_table_unused_bytes();
}

static bool is_current(const struct kept *candidate)
{
	for (size_t i = 0; i < RUNTIME_KINDS; i++)
		if ((const void *)atomic_load(&mixed_stack.runtimes[i]) == candidate)
			return true;
	return false;
}

/* A kept runtime that no walk can use any more; NULL if walks are always in progress. */
static struct kept *kept_reuse(void)
{
	for (int i = 0; atomic_load(&mixed_stack.used); i++) {
		if (i == IDLE_CHECKS_MAX)
			return NULL;
		system_yield();
	}
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (!is_current(&kept[i]))
			return &kept[i];
	return NULL;
}

int mixed_stack_look_for(enum runtime_kind kind, const struct runtime *runtime, size_t bytes)
{
	static size_t count;
	struct kept *slot = NULL;

	if (!runtime) {
		set_runtime(kind, NULL);
		return 0;
	}
	if (!mixed_stack.works) {
		memory_set_unused(unused_bytes);
		mixed_stack.works = system_map(WORKS * sizeof(*mixed_stack.works));
		if (mixed_stack.works)
			system_empty_in_children(mixed_stack.works,
						 WORKS * sizeof(*mixed_stack.works));
	}
	if (!mixed_stack.works || frame_table_open() || (kind == RUNTIME_V8 && v8_open()) ||
	    (kind == RUNTIME_RUBY && ruby_open()))
		return -ENOMEM;
	for (size_t i = 0; !slot && i < count; i++)
		if (!memcmp(kept[i].bytes, runtime, bytes))
			slot = &kept[i];
	if (!slot) {
		slot = count < KEPT_MAX ? &kept[count++] : kept_reuse();
		if (!slot)
			return -EAGAIN;
		memset(slot, 0, sizeof(*slot));
		memcpy(slot->bytes, runtime, bytes);
	}
	set_runtime(kind, (const struct runtime *)slot->bytes);
	return 0;
}

void mixed_stack_several(bool several)
{
	atomic_store_explicit(&python_has_several, several, memory_order_relaxed);
}

void mixed_stack_after_fork(void)
{
	for (size_t i = 0; i < RUNTIME_KINDS; i++)
		atomic_store(&mixed_stack.runtimes[i], NULL);
	unwind_set_java(0, 0);
	atomic_store(&mixed_stack.any, false);
	atomic_store(&mixed_stack.used, 0);
	atomic_store(&mixed_stack.touched, 0);
	mixed_stack_several(false);
}

static void work_release(struct work *work)
{
	uint64_t bit = UINT64_C(1) << (work - mixed_stack.works);

	atomic_fetch_and_explicit(&mixed_stack.used, ~bit, memory_order_release);
}

/* False if WORK was never used, and there is no memory for it. */
static bool work_is_granted(const struct work *work)
{
	uint32_t number = (uint32_t)(work - mixed_stack.works) + 1;
	uint32_t touched = atomic_load_explicit(&mixed_stack.touched, memory_order_relaxed);

	if (number <= touched)
		return true;
	if (!memory_is_granted(MEMORY_STACK, sizeof(*work)))
		return false;
	while (touched < number &&
	       !atomic_compare_exchange_weak(&mixed_stack.touched, &touched, number))
		;
	return true;
}

/* NULL if all are in use, or there is no memory for one more. */
static struct work *work_acquire(void)
{
	uint64_t used = atomic_load_explicit(&mixed_stack.used, memory_order_relaxed), bit;
	struct work *work;

	do {
		if (used == UINT64_MAX)
			return NULL;
		bit = ~used & (used + 1); /* the lowest free bit */
	} while (!atomic_compare_exchange_weak(&mixed_stack.used, &used, used | bit));
	work = &mixed_stack.works[__builtin_ctzll(bit)];
	if (work_is_granted(work)) {
		atomic_fetch_add(&work->times, 1);
		return work;
	}
	work_release(work);
	return NULL;
}

/* ---- Renewal of the frame table ---- */

static bool old_table_is_idle(void)
{
	uint64_t used = atomic_load(&mixed_stack.used) & mixed_stack.used_before;

	for (size_t i = 0; i < WORKS; i++)
		if (used >> i & 1 &&
		    atomic_load(&mixed_stack.works[i].times) == mixed_stack.works[i].times_before)
			return false;
	return true;
}

bool mixed_stack_turn(void)
{
	if (frame_table_is_renewed())
		return old_table_is_idle();
	if (!frame_table_renew())
		return false;
	/* In the total order with work_acquire(): a walk without a workspace will see the new table. */
	mixed_stack.used_before = atomic_load(&mixed_stack.used);
	for (size_t i = 0; i < WORKS; i++)
		if (mixed_stack.used_before >> i & 1)
			mixed_stack.works[i].times_before =
				atomic_load(&mixed_stack.works[i].times);
	return false;
}

/* ---- Merging ---- */

struct merge {
	const struct runtime *runtime;
	const uintptr_t *pcs, *sps;
	size_t count, at; /* native frames, and the number already placed */
	uintptr_t *out;
	size_t length, max;
};

static void merge_add(struct merge *m, uintptr_t frame)
{
	if (!frame)
		return;
	if (m->length < m->max)
		m->out[m->length] = frame;
	m->length++;
}

/* Index of the native frame, from the next one on, that contains ADDRESS; COUNT if none does. The
 * end of the outermost frame is unknown. */
static size_t merge_find_address(const struct merge *m, uintptr_t address)
{
	size_t i = m->at;

	while (i + 1 < m->count && !(address >= m->sps[i] && address < m->sps[i + 1]))
		i++;
	if (i + 1 == m->count &&
	    !(address >= m->sps[i] && runtime_is_evaluator(m->runtime, m->pcs[i])))
		i++;
	return i;
}

static size_t merge_find_evaluator(const struct merge *m)
{
	size_t i = m->at;

	while (i < m->count && !runtime_is_evaluator(m->runtime, m->pcs[i]))
		i++;
	return i;
}

/* Without addresses, only their order distinguishes evaluator calls. If the stack has one more call
 * than there are rows, the innermost has not started its own row. */
static bool merge_starts_call(const struct merge *m, const uintptr_t *frames, size_t count)
{
	size_t calls = 0;

	for (size_t i = 0; i < m->count; i++)
		calls += runtime_is_evaluator(m->runtime, m->pcs[i]);
	for (size_t i = 0; i < count; i++)
		calls -= frames[i] & RUNTIME_ANCHOR;
	return calls == 1 && m->count && runtime_is_evaluator(m->runtime, m->pcs[0]);
}

size_t mixed_stack_merge(const struct runtime *runtime, const struct native_frames *stack,
			 const uintptr_t *frames, size_t frame_count, uintptr_t *out, size_t max,
			 bool *truncated)
{
	struct merge m = { .runtime = runtime,
			   .pcs = stack->pcs,
			   .sps = stack->sps,
			   .count = stack->count,
			   .out = out,
			   .max = max };
	bool anchored = true, placed = false;
	size_t end, native;

	for (size_t i = 0; i < frame_count; i++)
		anchored &= frames[i] != RUNTIME_ANCHOR;
	if (!anchored && merge_starts_call(&m, frames, frame_count))
		m.at++;
	for (size_t begin = 0; begin < frame_count; begin = end + 1) {
		for (end = begin; end < frame_count && !(frames[end] & RUNTIME_ANCHOR); end++)
			;
		if (end == frame_count)
			native = m.count;
		else if (anchored)
			native = merge_find_address(&m, frames[end] & ~RUNTIME_ANCHOR);
		else
			native = merge_find_evaluator(&m);
		/* A call that runs no frame yet, or the end of the thread state. */
		if (begin == end)
			continue;
		/* A call that has not started its frames, or that has finished them, is left out. */
		for (; m.at < native; m.at++)
			if (placed || !runtime_is_evaluator(runtime, m.pcs[m.at]))
				merge_add(&m, m.pcs[m.at]);
		placed = true;
		/* If the native walk was lost before, these frames remain. */
		m.at += m.at < m.count;
		for (size_t i = begin; i < end; i++)
			merge_add(&m, frames[i]);
	}
	while (m.at < m.count)
		merge_add(&m, m.pcs[m.at++]);
	*truncated |= m.length > max;
	return m.length < max ? m.length : max;
}

/* ---- Walking ---- */

/* A mixer writes NATIVE, which is in WORK, to OUT and inserts the frames of RUNTIME. Returns the
 * number of frames in OUT, or 0 if RUNTIME has no frame on this stack. */
typedef size_t mixer(const struct runtime *runtime, struct work *work,
		     const struct native_frames *native, uintptr_t stack_high, uintptr_t *out,
		     size_t max, bool *truncated);

/* Merge the FRAME_COUNT frames that a walk stored in WORK with the native frames that run them. */
static size_t merge_found(const struct runtime *runtime, struct work *work,
			  const struct native_frames *native, size_t frame_count, uintptr_t *out,
			  size_t max, bool *truncated)
{
	return frame_count ? mixed_stack_merge(runtime, native, work->frames, frame_count, out, max,
					       truncated)
			   : 0;
}

static size_t mix_python(const struct runtime *runtime, struct work *work,
			 const struct native_frames *native, uintptr_t stack_high, uintptr_t *out,
			 size_t max, bool *truncated)
{
	struct memory_reader stack = { .block = &work->python.stack_block };
	size_t frames;

	work->python.is_at_call = !work->context;
	memory_block_init(&work->python.stack_block);
	stack_memory_move(&stack, native->sps[0], stack_high);
	frames = python_walk((const struct python *)runtime, &work->python, &stack, work->frames,
			     DEPTH_MAX);
	return merge_found(runtime, work, native, frames, out, max, truncated);
}

static size_t mix_v8(const struct runtime *runtime, struct work *work,
		     const struct native_frames *native, uintptr_t stack_high, uintptr_t *out,
		     size_t max, bool *truncated)
{
	struct memory_reader stack = { .block = &work->v8_stack };

	memory_block_init(&work->v8_stack);
	stack_memory_move(&stack, native->sps[0], stack_high);
	return v8_walk((const struct v8 *)runtime, &work->v8, &stack, native, out, max, truncated);
}

/* The most passages through Ruby's JIT code in one walk. */
#define PASSES_MAX 64

/* If the walk of NATIVE frames ended in Ruby's JIT code, continue it at the evaluator call that ran the code. */
static void continue_after_jit(const struct ruby *ruby, struct work *work,
			       struct native_frames *native, uintptr_t stack_high, size_t max,
			       bool *truncated)
{
	struct unwind_place place;
	size_t i = 0;

	for (int pass = 0; pass < PASSES_MAX; pass++) {
		while (i < native->count && !work->fps[i] && work->pcs[i] != STACK_CALLERS_UNKNOWN)
			i++;
		if (i == native->count || !ruby_place(ruby, &work->ruby, work->sps[i], &place))
			return;
		native->count =
			i + unwind_place_sps(&place, stack_high, work->pcs + i, work->sps + i,
					     work->fps + i, max - i, truncated);
		i++;
	}
}

static size_t mix_ruby(const struct runtime *runtime, struct work *work,
		       const struct native_frames *native, uintptr_t stack_high, uintptr_t *out,
		       size_t max, bool *truncated)
{
	const struct ruby *ruby = (const struct ruby *)runtime;
	struct native_frames whole = *native;
	bool cut;
	size_t frames = ruby_walk(ruby, &work->ruby, work->frames, DEPTH_MAX, &cut);

	if (!frames)
		return 0;
	continue_after_jit(ruby, work, &whole, stack_high, max, truncated);
	return ruby_merge(ruby, &whole, work->frames, frames, cut, out, max, truncated);
}

static size_t mix_jvm(const struct runtime *runtime, struct work *work,
		      const struct native_frames *native, uintptr_t stack_high, uintptr_t *out,
		      size_t max, bool *truncated)
{
	(void)work;
	(void)stack_high;
	(void)max; /* the count never grows */
	(void)truncated;
	return jvm_mix((const struct jvm *)runtime, native, out);
}

static size_t mix_php(const struct runtime *runtime, struct work *work,
		      const struct native_frames *native, uintptr_t stack_high, uintptr_t *out,
		      size_t max, bool *truncated)
{
	size_t frames = php_walk((const struct php *)runtime, &work->php, native, stack_high,
				 work->frames, DEPTH_MAX);

	return merge_found(runtime, work, native, frames, out, max, truncated);
}

static size_t mix_perl(const struct runtime *runtime, struct work *work,
		       const struct native_frames *native, uintptr_t stack_high, uintptr_t *out,
		       size_t max, bool *truncated)
{
	size_t frames = perl_walk((const struct perl *)runtime, &work->perl, native, work->frames,
				  DEPTH_MAX);

	(void)stack_high;
	return merge_found(runtime, work, native, frames, out, max, truncated);
}

static mixer *const mixers[RUNTIME_KINDS] = {
	[RUNTIME_PYTHON] = mix_python, [RUNTIME_V8] = mix_v8,   [RUNTIME_RUBY] = mix_ruby,
	[RUNTIME_JVM] = mix_jvm,       [RUNTIME_PHP] = mix_php, [RUNTIME_PERL] = mix_perl,
};

static bool stack_has_runtime(const struct runtime *runtime, const struct native_frames *native)
{
	if (runtime->finds_own_frames)
		return true;
	for (size_t i = 0; i < native->count; i++)
		if (native->pcs[i] - runtime->text < runtime->text_end - runtime->text ||
		    (runtime->has_jit && native->fps[i]))
			return true;
	return false;
}

/* Insert the frames of an interpreter into the COUNT native frames in PCS, whose stack positions
 * are in WORK. If a stack has several interpreters, only one is handled. */
static size_t mix_runtimes(struct work *work, uintptr_t stack_high, uintptr_t *pcs, size_t count,
			   size_t max, bool *truncated)
{
	struct native_frames native = { .is_exact = work->context != NULL,
					.context = work->context,
					.pcs = pcs,
					.sps = work->sps,
					.fps = work->fps,
					.count = count };
	uint64_t begin_ns = clock_monotonic_ns(), took_ns;
	const struct runtime *runtime;
	size_t mixed = 0;

	for (size_t kind = 0; !mixed && kind < RUNTIME_KINDS; kind++) {
		runtime = atomic_load_explicit(&mixed_stack.runtimes[kind], memory_order_acquire);
		if (!runtime || !stack_has_runtime(runtime, &native))
			continue;
		if (native.pcs == pcs) {
			memcpy(work->pcs, pcs, count * sizeof(*pcs));
			native.pcs = work->pcs;
		}
		mixed = mixers[kind](runtime, work, &native, stack_high, pcs, max, truncated);
	}
	took_ns = clock_monotonic_ns() - begin_ns;
	cost_add(COST_INTERPRETERS, took_ns < COST_HOOK_MAX_NS ? took_ns : COST_HOOK_MAX_NS,
		 mixed != 0);
	return mixed ? mixed : count;
}

/* Workspace to search for interpreters; NULL if the process has none. */
static struct work *work_acquire_if_needed(void)
{
	if (__builtin_expect(!atomic_load_explicit(&mixed_stack.any, memory_order_acquire), 1))
		return NULL;
	return work_acquire();
}

size_t mixed_stack_context(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs, size_t max,
			   bool *truncated)
{
	struct work *work = work_acquire_if_needed();
	struct walk_budget budget, *outer;
	size_t count;

	walk_budget_init(&budget);
	outer = walk_budget_set(&budget);
	if (max > DEPTH_MAX)
		max = DEPTH_MAX;
	count = unwind_context_sps(ucontext, stack_high, pcs, work ? work->sps : NULL,
				   work ? work->fps : NULL, max, truncated);
	if (__builtin_expect(work != NULL, 0)) {
		work->context = ucontext;
		count = mix_runtimes(work, stack_high, pcs, count, max, truncated);
		work_release(work);
	}
	walk_budget_set(outer);
	return count;
}

/* noinline, and no tail call: the skipped frames include its own. */
__attribute__((noinline)) size_t mixed_stack_here(uintptr_t stack_high, size_t skip, uintptr_t *pcs,
						  size_t max, bool *truncated)
{
	struct work *work = work_acquire_if_needed();
	struct walk_budget budget, *outer;
	size_t count;

	walk_budget_init(&budget);
	outer = walk_budget_set(&budget);
	if (max > DEPTH_MAX)
		max = DEPTH_MAX;
	count = unwind_here_sps(stack_high, skip + 1, pcs, work ? work->sps : NULL,
				work ? work->fps : NULL, max, truncated);
	__asm__ volatile("" ::: "memory"); /* prevents a tail call */
	if (__builtin_expect(work != NULL, 0)) {
		work->context = NULL;
		count = mix_runtimes(work, stack_high, pcs, count, max, truncated);
		work_release(work);
	}
	walk_budget_set(outer);
	return count;
}
