/* Walks stacks, frame by frame, with the rules that the modules' tables name. */
#include "engine/unwind.h"

#include <stdatomic.h>

#include "engine/cfi_lookup.h"
#include "engine/stack_memory.h"
#include "engine/unwind_arch.h"
#include "engine/unwind_map.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- Statistics ---- */

/* Threads count in stripes by where their stack is, so that none waits for another's cache line;
 * two on one stripe may lose a count. */
#define STRIPES 32

static struct stripe {
	_Alignas(64) _Atomic uint64_t walks[UNWIND_ENDS];
} stripes[STRIPES];

static void count_end(enum unwind_end end, uintptr_t sp)
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

/* ---- One frame ---- */

struct walk {
	uintptr_t pc, sp, fp, base;
	uintptr_t context; /* ucontext with all registers of this frame; 0: in a caller */
	bool exact;        /* pc is an instruction to come, not a return address */
	uintptr_t stack_high;
	struct stack_memory memory;
};

enum { STEP_ON = UNWIND_ENDS }; /* beside enum unwind_end: there is a caller */

static bool read_word(struct walk *walk, uintptr_t address, uintptr_t *value)
{
	return address % sizeof(uintptr_t) == 0 && stack_memory_read(&walk->memory, address, value);
}

/* Enter the frame whose registers are in the ucontext at ADDRESS. */
static bool enter_context(struct walk *walk, uintptr_t address)
{
	uintptr_t pc, sp, fp, base;

	if (!read_word(walk, address + (uintptr_t)arch_pc_offset(), &pc) ||
	    !read_word(walk, address + (uintptr_t)arch_register_offset(ARCH_SP), &sp) ||
	    !read_word(walk, address + (uintptr_t)arch_register_offset(ARCH_FP), &fp) ||
	    !read_word(walk, address + (uintptr_t)arch_register_offset(ARCH_BASE), &base))
		return false;
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	walk->base = base;
	walk->context = address;
	walk->exact = true;
	/* A handler on an alternate stack interrupted the thread's own. */
	stack_memory_move(&walk->memory, sp, walk->stack_high);
	return true;
}

/* The value of DWARF register NUMBER in this frame. */
static bool register_value(struct walk *walk, unsigned number, uintptr_t *value)
{
	ptrdiff_t offset = arch_register_offset(number);

	if (number == ARCH_SP)
		*value = walk->sp;
	else if (number == ARCH_FP)
		*value = walk->fp;
	else if (number == ARCH_BASE)
		*value = walk->base;
	else
		return walk->context && offset >= 0 &&
		       read_word(walk, walk->context + (uintptr_t)offset, value);
	return true;
}

/* Load a saved register, if RULE says that it was saved. */
static bool restore(struct walk *walk, uint8_t save, int16_t words, uintptr_t cfa, uintptr_t *value)
{
	uintptr_t from = save == SAVE_CFA ? cfa : save == SAVE_FP ? walk->fp : walk->sp;

	if (save == SAVE_SAME)
		return true;
	return read_word(walk, from + (uintptr_t)((intptr_t)words * 8), value);
}

/* Go to the caller of a frame whose CFA is known. */
static inline int leave(struct walk *walk, const struct unwind_rule *rule, uintptr_t cfa)
{
	uintptr_t ra, fp = walk->fp, base = walk->base;

	/* A leaf may have no frame at all; any other that does not grow is a loop. */
	if (unlikely(cfa <= walk->sp && (cfa < walk->sp || !walk->exact || rule->ra_words)))
		return UNWIND_BAD_STACK;
	if (likely(rule->ra_words)) {
		if (!read_word(walk, cfa + (uintptr_t)((intptr_t)rule->ra_words * 8), &ra))
			return UNWIND_BAD_STACK;
	} else if (!register_value(walk, ARCH_RA, &ra)) {
		return UNWIND_NO_RULE;
	}
	if (!restore(walk, rule->fp_save, rule->fp_words, cfa, &fp) ||
	    !restore(walk, rule->base_save, rule->base_words, cfa, &base))
		return UNWIND_BAD_STACK;
	walk->pc = arch_strip(ra);
	walk->sp = cfa;
	walk->fp = fp;
	walk->base = base;
	walk->context = 0;
	walk->exact = false;
	return STEP_ON;
}

/* ---- Code without unwind information ---- */

#define CODE_BYTES 16

/* How many bytes, up to CODE_BYTES, can be read before and from PC. */
static void readable_code(uintptr_t pc, size_t *before, size_t *after)
{
	*after = stack_memory_probe(pc) ? STACK_PAGE - pc % STACK_PAGE : 0;
	*before = *after ? pc % STACK_PAGE : 0;
	if (*after && *after < CODE_BYTES && stack_memory_probe(pc + CODE_BYTES - 1))
		*after = CODE_BYTES;
	if (*after && *before < CODE_BYTES && stack_memory_probe(pc - CODE_BYTES))
		*before = CODE_BYTES;
}

static bool is_behind_call(uintptr_t pc)
{
	size_t before, after;

	readable_code(pc, &before, &after);
	return arch_is_behind_call((const uint8_t *)pc, before);
}

/* The frame pointer's own frame: the saved one and the return address lie where it points. */
static int leave_by_frame_pointer(struct walk *walk)
{
	static const struct unwind_rule rule = {
		.kind = RULE_FP, .offset = 16, .ra_words = -1, .fp_save = SAVE_CFA, .fp_words = -2
	};

	if (!walk->fp)
		return UNWIND_COMPLETE; /* the ABI's mark for the outermost frame */
	if (walk->fp < walk->sp)
		return UNWIND_NO_RULE;
	return leave(walk, &rule, walk->fp + 16);
}

/* The interrupted function has pushed WORDS words, of which the last may be the frame pointer. */
static int leave_by_stack_pointer(struct walk *walk, int words)
{
	struct unwind_rule rule = { .kind = RULE_SP, .ra_words = -1 };

	if (words == 2) {
		rule.fp_save = SAVE_CFA;
		rule.fp_words = -2;
	}
	return leave(walk, &rule, walk->sp + (uintptr_t)words * 8);
}

static int leave_leaf(struct walk *walk, size_t before, size_t after)
{
	static const struct unwind_rule in_link = { .kind = RULE_SP };
	uintptr_t ra;

	switch (arch_leaf_at((const uint8_t *)walk->pc, before, after)) {
	case ARCH_LEAF_RETURN_AT_SP:
		return leave_by_stack_pointer(walk, 1);
	case ARCH_LEAF_FP_AT_SP:
		return leave_by_stack_pointer(walk, 2);
	case ARCH_LEAF_RETURN_IN_LINK:
		return leave(walk, &in_link, walk->sp);
	case ARCH_LEAF_FRAME_POINTER:
		break;
	}
	/* A stub, or a hand-written leaf that pushes nothing. */
	if (ARCH_RA == 16 && read_word(walk, walk->sp, &ra) && is_behind_call(ra))
		return leave_by_stack_pointer(walk, 1);
	return leave_by_frame_pointer(walk);
}

static int step_signal(struct walk *walk)
{
	return enter_context(walk, walk->sp + ARCH_UCONTEXT_SKIP) ? STEP_ON : UNWIND_BAD_STACK;
}

/* The function is about to return: so does .init, which runs constructors, and has no other sign
 * of its frame. */
static int leave_by_epilogue(struct walk *walk, size_t bytes)
{
	static const struct unwind_rule rule = { .kind = RULE_SP, .ra_words = -1 };

	return leave(walk, &rule, walk->sp + bytes + sizeof(uintptr_t));
}

/* JIT code, hand-written assembly, or no code at all. */
static int step_without_rule(struct walk *walk)
{
	size_t before, after, bytes;

	readable_code(walk->pc, &before, &after);
	if (!after)
		/* A call through a wild pointer can still be told. */
		return walk->exact && ARCH_RA == 16 ? leave_by_stack_pointer(walk, 1)
						    : UNWIND_NO_RULE;
	if (arch_is_sigreturn((const uint8_t *)walk->pc, after))
		return step_signal(walk);
	bytes = arch_epilogue((const uint8_t *)walk->pc, after);
	if (bytes)
		return leave_by_epilogue(walk, bytes);
	if (walk->exact)
		return leave_leaf(walk, before, after);
	unwind_map_remember(walk->pc - 1, RULE_INDEX_CHAIN);
	return leave_by_frame_pointer(walk);
}

/* ---- Steps ---- */

/* Some walk met a module that modules_refresh() has not seen or should compile, or did not reach
 * the entry. */
static _Atomic bool refresh_wanted;

bool unwind_wants_refresh(void)
{
	return atomic_load_explicit(&refresh_wanted, memory_order_relaxed) &&
	       atomic_exchange_explicit(&refresh_wanted, false, memory_order_relaxed);
}

static void want_refresh(void)
{
	atomic_store_explicit(&refresh_wanted, true, memory_order_relaxed);
}

static int step_by(struct walk *walk, const struct unwind_rule *rule);

/* A module without a table: it has just been loaded, or few walks came through it. Or, where
 * the module is UNKNOWN, code of none. */
static int step_by_lookup(struct walk *walk, bool unknown)
{
	struct unwind_rule rule;

	if (!cfi_lookup(&rule, walk->exact ? walk->pc : walk->pc - 1))
		return step_without_rule(walk);
	if (unknown)
		want_refresh();
	return step_by(walk, &rule);
}

static __attribute__((noinline)) int step_rare(struct walk *walk, const struct unwind_rule *rule)
{
	uintptr_t value;

	switch (rule->kind) {
	case RULE_NONE:
		return step_without_rule(walk);
	case RULE_UNKNOWN:
	case RULE_PENDING:
		return step_by_lookup(walk, rule->kind == RULE_UNKNOWN);
	case RULE_CHAIN:
		return walk->exact ? step_without_rule(walk) : leave_by_frame_pointer(walk);
	case RULE_SIGNAL:
		return step_signal(walk);
	case RULE_END:
		return UNWIND_COMPLETE;
	case RULE_BASE:
		return leave(walk, rule, walk->base + (uintptr_t)(intptr_t)rule->offset);
	case RULE_PLT:
		value = walk->sp + (uintptr_t)(intptr_t)rule->offset;
		if ((walk->pc & 15) >= (uintptr_t)rule->offset2)
			value += 8;
		return leave(walk, rule, value);
	case RULE_REGISTER:
		if (!register_value(walk, rule->reg, &value))
			break;
		return leave(walk, rule, value + (uintptr_t)(intptr_t)rule->offset);
	case RULE_DEREF:
		if (!register_value(walk, rule->reg, &value) ||
		    !read_word(walk, value + (uintptr_t)(intptr_t)rule->offset, &value))
			break;
		return leave(walk, rule, value + (uintptr_t)(intptr_t)rule->offset2);
	}
	return UNWIND_NO_RULE;
}

static inline int step_by(struct walk *walk, const struct unwind_rule *rule)
{
	if (likely(rule->kind == RULE_SP))
		return leave(walk, rule, walk->sp + (uintptr_t)(intptr_t)rule->offset);
	if (rule->kind == RULE_FP)
		return leave(walk, rule, walk->fp + (uintptr_t)(intptr_t)rule->offset);
	return step_rare(walk, rule);
}

static inline int step(struct walk *walk)
{
	uintptr_t key = walk->exact ? walk->pc : walk->pc - 1;

	if (unlikely(!walk->pc))
		return walk->exact ? step_without_rule(walk) : UNWIND_COMPLETE;
	if (unlikely(!key || key >> ARCH_ADDRESS_BITS))
		return UNWIND_NO_RULE;
	return step_by(walk, &unwind_rules[unwind_map_find(key)]);
}

/* Frames that a signal interrupted may lie on another stack, lower than the handler's: only
 * their number keeps such a walk from going round. */
#define SIGNAL_FRAMES_MAX 16

static size_t walk_on(struct walk *walk, size_t skip, uintptr_t *pcs, size_t max, bool *truncated)
{
	uintptr_t sp = walk->sp;
	unsigned signals = 0;
	size_t count = 0;
	int end;

	if (!skip && max)
		pcs[count++] = walk->pc;
	while ((end = step(walk)) == STEP_ON) {
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
		pcs[count++] = walk->pc + walk->exact;
	}
	*truncated = end == UNWIND_TRUNCATED;
	if (unlikely(end == UNWIND_NO_RULE || end == UNWIND_BAD_STACK))
		want_refresh();
	count_end((enum unwind_end)end, sp);
	return count;
}

size_t unwind_context(const void *ucontext, uintptr_t stack_high, uintptr_t *pcs, size_t max,
		      bool *truncated)
{
	const char *context = ucontext;
	struct walk walk = { .context = (uintptr_t)ucontext,
			     .exact = true,
			     .stack_high = stack_high };

	walk.pc = *(const uintptr_t *)(context + arch_pc_offset());
	walk.sp = *(const uintptr_t *)(context + arch_register_offset(ARCH_SP));
	walk.fp = *(const uintptr_t *)(context + arch_register_offset(ARCH_FP));
	walk.base = *(const uintptr_t *)(context + arch_register_offset(ARCH_BASE));
	stack_memory_move(&walk.memory, walk.sp, stack_high);
	return walk_on(&walk, 0, pcs, max, truncated);
}

__attribute__((noinline)) size_t unwind_here(uintptr_t stack_high, size_t skip, uintptr_t *pcs,
					     size_t max, bool *truncated)
{
	struct walk walk = { .exact = true, .stack_high = stack_high };
	struct arch_here here;

	arch_here(&here);
	walk.pc = here.pc;
	walk.sp = here.sp;
	walk.fp = here.fp;
	walk.base = here.base;
	stack_memory_move(&walk.memory, walk.sp, stack_high);
	/* This function, then the one that calls it. */
	return walk_on(&walk, skip + 2, pcs, max, truncated);
}
