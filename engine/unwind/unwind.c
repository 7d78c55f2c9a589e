/* Stack unwinder: walks a stack frame by frame, with the rules in the modules' tables. */
#include "engine/unwind/unwind.h"

#include <stdatomic.h>

#include "core/preload_code.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/reading/stack_memory.h"
#include "engine/unwind/unwind_map.h"
#include "engine/unwind/unwind_stats.h"
#include "engine/unwind/unwind_walk.h"

/* ---- Statistics ---- */

/* The counters are striped by stack address, so that threads do not share cache lines. Two threads
 * on one stripe may lose a count. */
#define STRIPES 32

static struct stripe {
	_Alignas(64) _Atomic uint64_t walks[UNWIND_ENDS];
} stripes[STRIPES];

static void unwind_count_end(enum unwind_end end, uintptr_t sp)
{
	struct stripe *stripe = &stripes[((sp >> 16) * 0x9e3779b97f4a7c15u) >> 59];
	uint64_t count = atomic_load_explicit(&stripe->walks[end], memory_order_relaxed);

	_Static_assert(STRIPES == 1 << (64 - 59), "the shift above");
	atomic_store_explicit(&stripe->walks[end], count + 1, memory_order_relaxed);
}

void unwind_stats_read(struct unwind_stats *stats)
{
	*stats = (struct unwind_stats){ 0 };
	for (size_t i = 0; i < STRIPES; i++)
		for (size_t end = 0; end < UNWIND_ENDS; end++)
			stats->walks[end] +=
				atomic_load_explicit(&stripes[i].walks[end], memory_order_relaxed);
}

/* ---- Steps ---- */

/* A walk met a module that modules_refresh() has not seen or should compile, or did not reach the
 * entry. */
static _Atomic bool refresh_wanted;

bool unwind_wants_refresh(void)
{
	return atomic_load_explicit(&refresh_wanted, memory_order_relaxed) &&
	       atomic_exchange_explicit(&refresh_wanted, false, memory_order_relaxed);
}

static void unwind_request_refresh(void)
{
	atomic_store_explicit(&refresh_wanted, true, memory_order_relaxed);
}

static int walk_step_by_rule(struct walk *walk, const struct unwind_rule *rule);

#define LOOKUP_WORDS 256 /* cost of one lookup */

/* Step out of a module without a table: it was just loaded, or few walks passed through it.
 * UNKNOWN: the code may belong to no module. */
static int walk_step_by_lookup(struct walk *walk, bool unknown)
{
	uintptr_t key = walk->exact ? walk->pc : walk->pc - 1;
	struct unwind_rule rule;

	if (!walk_use(walk, LOOKUP_WORDS) || !cfi_lookup(&rule, key, walk->memory.block))
		return walk_step_bare(walk);
	unwind_map_cache_lookup(key, &rule);
	if (unknown)
		unwind_request_refresh();
	return walk_step_by_rule(walk, &rule);
}

static __attribute__((noinline)) int walk_step_rare(struct walk *walk,
						    const struct unwind_rule *rule)
{
	uintptr_t value;

	switch (rule->kind) {
	case RULE_NONE:
		return walk_step_bare(walk);
	case RULE_UNKNOWN:
	case RULE_PENDING:
		return walk_step_by_lookup(walk, rule->kind == RULE_UNKNOWN);
	case RULE_CHAIN:
		return walk->exact ? walk_step_bare(walk) : walk_step_chain(walk);
	case RULE_SIGNAL:
		return walk_step_signal(walk);
	case RULE_END:
		return UNWIND_COMPLETE;
	case RULE_BASE:
		return walk_leave(walk, rule, walk->base + (uintptr_t)(intptr_t)rule->offset);
	case RULE_PLT:
		value = walk->sp + (uintptr_t)(intptr_t)rule->offset;
		if ((walk->pc & 15) >= (uintptr_t)rule->offset2)
			value += 8;
		return walk_leave(walk, rule, value);
	case RULE_THROW:
		return walk_step_throw(walk, rule);
	case RULE_MOVED:
		return walk_step_moved(walk, rule);
	case RULE_SWITCH:
		return walk_step_switched(walk);
	case RULE_REGISTER:
		if (!walk_register(walk, rule->reg, &value))
			break;
		return walk_leave(walk, rule, value + (uintptr_t)(intptr_t)rule->offset);
	case RULE_DEREF:
		if (!walk_register(walk, rule->reg, &value) ||
		    !walk_read(walk, value + (uintptr_t)(intptr_t)rule->offset, &value))
			break;
		return walk_leave(walk, rule, value + (uintptr_t)(intptr_t)rule->offset2);
	}
	return UNWIND_NO_RULE;
}

static inline int walk_step_by_rule(struct walk *walk, const struct unwind_rule *rule)
{
	if (likely(rule->kind == RULE_SP))
		return walk_leave(walk, rule, walk->sp + (uintptr_t)(intptr_t)rule->offset);
	if (rule->kind == RULE_FP)
		return walk_leave(walk, rule, walk->fp + (uintptr_t)(intptr_t)rule->offset);
	return walk_step_rare(walk, rule);
}

static inline int walk_step_inline(struct walk *walk)
{
	uintptr_t key = walk->exact ? walk->pc : walk->pc - 1;

	if (unlikely(!walk->pc))
		return walk->exact   ? walk_step_bare(walk)
		       : walk->trial ? UNWIND_BAD_STACK
				     : UNWIND_COMPLETE;
	if (unlikely(!key || key >> ARCH_ADDRESS_BITS))
		return UNWIND_NO_RULE;
	return walk_step_by_rule(walk, &unwind_rules[unwind_map_find(key)]);
}

int walk_step(struct walk *walk)
{
	return walk_step_inline(walk);
}

/* Frames that a signal interrupted may lie on another stack, below the handler's. Only this limit
 * prevents an endless walk there. */
#define SIGNAL_FRAMES_MAX 16

/* Receives each frame's stack pointer and frame pointer, if the caller wants them. */
struct frame_positions {
	uintptr_t *sps, *fps;
};

static inline void frame_positions_record(const struct walk *walk,
					  const struct frame_positions *positions, size_t at)
{
	if (unlikely(positions->sps != NULL)) {
		positions->sps[at] = walk->sp;
		positions->fps[at] = walk->fp;
	}
}

/* Leave the last recorded frame. In a function with unwind information, the frame pointer register
 * may hold anything, so it is not reported. */
static inline int walk_leave_frame(struct walk *walk, const struct frame_positions *positions,
				   size_t count)
{
	int end;

	walk->bare = false;
	end = walk_step_inline(walk);
	if (unlikely(positions->sps != NULL) && count && !walk->bare)
		positions->fps[count - 1] = 0;
	return end;
}

static size_t walk_frames(struct walk *walk, size_t skip, uintptr_t *pcs,
			  const struct frame_positions *positions, size_t max, bool *truncated)
{
	uintptr_t sp = walk->sp;
	unsigned signals = 0;
	size_t count = 0;
	int end;

	if (!skip && max) {
		frame_positions_record(walk, positions, count);
		pcs[count++] = walk->pc;
	}
	while ((end = walk_leave_frame(walk, positions, count)) == STEP_ON) {
		if (unlikely(walk->exact && ++signals > SIGNAL_FRAMES_MAX)) {
			end = UNWIND_BAD_STACK;
			break;
		}
		if (unlikely(!walk->pc && !walk->exact)) {
			end = UNWIND_COMPLETE;
			break;
		}
		if (skip && --skip)
			continue;
		if (count == max) {
			end = UNWIND_TRUNCATED;
			break;
		}
		frame_positions_record(walk, positions, count);
		pcs[count++] = walk->pc + walk->exact;
	}
	*truncated = end == UNWIND_TRUNCATED;
	if (unlikely(end == UNWIND_NO_RULE || end == UNWIND_BAD_STACK)) {
		if (!walk_budget_is_spent(walk->budget))
			unwind_request_refresh();
		if (count && count < max) {
			frame_positions_record(walk, positions, count);
			pcs[count++] = STACK_CALLERS_UNKNOWN;
		}
	}
	unwind_count_end((enum unwind_end)end, sp);
	return count;
}

/* Like walk_frames(), with the budget of the sample, or with its own one if there is none. */
static size_t walk_within_budget(struct walk *walk, size_t skip, uintptr_t *pcs,
				 const struct frame_positions *positions, size_t max,
				 bool *truncated)
{
	struct walk_budget *of_sample = walk_budget_current(), own;
	size_t count;

	walk->budget = of_sample;
	if (!of_sample) {
		walk_budget_init(&own);
		walk->budget = &own;
		walk_budget_set(&own);
	}
	walk->memory.block->budget = walk->budget;
	count = walk_frames(walk, skip, pcs, positions, max, truncated);
	walk_budget_set(of_sample);
	return count;
}

size_t unwind_context_sps(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs,
			  uintptr_t *sps, uintptr_t *fps, size_t max, bool *truncated)
{
	const struct frame_positions positions = { sps, fps };
	const char *context = ucontext;
	struct memory_block block;
	struct walk walk = { .context = (uintptr_t)ucontext,
			     .exact = true,
			     .stack_high = stack_high,
			     .memory.block = &block };

	memory_block_init(&block);
	walk.pc = *(const uintptr_t *)(context + arch_pc_offset());
	walk.sp = *(const uintptr_t *)(context + arch_register_offset(ARCH_SP));
	walk.fp = *(const uintptr_t *)(context + arch_register_offset(ARCH_FP));
	walk.base = *(const uintptr_t *)(context + arch_register_offset(ARCH_BASE));
	stack_memory_move(&walk.memory, walk.sp, stack_high);
	return walk_within_budget(&walk, 0, pcs, &positions, max, truncated);
}

__attribute__((noinline)) size_t unwind_here_sps(uintptr_t stack_high, size_t skip, uintptr_t *pcs,
						 uintptr_t *sps, uintptr_t *fps, size_t max,
						 bool *truncated)
{
	const struct frame_positions positions = { sps, fps };
	struct memory_block block;
	struct walk walk = { .exact = true, .stack_high = stack_high, .memory.block = &block };
	struct arch_here here;

	memory_block_init(&block);
	arch_here(&here);
	walk.pc = here.pc;
	walk.sp = here.sp;
	walk.fp = here.fp;
	walk.base = here.base;
	stack_memory_move(&walk.memory, walk.sp, stack_high);
	/* Skip this function and its caller. */
	return walk_within_budget(&walk, skip + 2, pcs, &positions, max, truncated);
}

size_t unwind_place_sps(const struct unwind_place *place, uintptr_t stack_high, uintptr_t *pcs,
			uintptr_t *sps, uintptr_t *fps, size_t max, bool *truncated)
{
	const struct frame_positions positions = { sps, fps };
	struct memory_block block;
	struct walk walk = { .pc = place->pc,
			     .sp = place->sp,
			     .fp = place->fp,
			     .base = place->base,
			     .stack_high = stack_high,
			     .memory.block = &block };

	memory_block_init(&block);
	stack_memory_move(&walk.memory, walk.sp, stack_high);
	return walk_within_budget(&walk, 0, pcs, &positions, max, truncated);
}
