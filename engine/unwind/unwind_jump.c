/* Steps from frames whose caller is not further up the same stack. */
#include "engine/reading/stack_memory.h"
#include "engine/unwind/unwind_walk.h"

/* Enter the frame whose registers are in the ucontext at ADDRESS. */
static bool enter_context(struct walk *walk, uintptr_t address)
{
	uintptr_t pc, sp, fp, base;

	if (!walk_read(walk, address + (uintptr_t)arch_pc_offset(), &pc) ||
	    !walk_read(walk, address + (uintptr_t)arch_register_offset(ARCH_SP), &sp) ||
	    !walk_read(walk, address + (uintptr_t)arch_register_offset(ARCH_FP), &fp) ||
	    !walk_read(walk, address + (uintptr_t)arch_register_offset(ARCH_BASE), &base))
		return false;
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	walk->base = base;
	walk->context = address;
	walk->exact = true;
	/* A handler on an alternate signal stack interrupted the thread's own stack. */
	stack_memory_move(&walk->memory, sp, walk->stack_high);
	return true;
}

int walk_step_signal(struct walk *walk)
{
	return enter_context(walk, walk->sp + ARCH_UCONTEXT_SKIP) ? STEP_ON : UNWIND_BAD_STACK;
}

/* Read a register of the next frame from the location in a RULE_MOVED. */
static bool read_moved(struct walk *walk, int16_t words, uintptr_t cfa, uintptr_t *value)
{
	if (words >= RULE_IN_REGISTER)
		return walk_register(walk, (unsigned)(words - RULE_IN_REGISTER), value);
	return walk_read(walk, cfa + (uintptr_t)((intptr_t)words * 8), value);
}

int walk_step_moved(struct walk *walk, const struct unwind_rule *rule)
{
	uintptr_t cfa, pc, sp, fp = walk->fp, base = walk->base;

	/* Only for interrupted frames, whose number is limited. This bounds the walk, although the
	 * stack pointer may decrease. */
	if (!walk->context)
		return walk_step_bare(walk);
	if (!walk_register(walk, rule->reg, &cfa))
		return UNWIND_NO_RULE;
	cfa += (uintptr_t)(intptr_t)rule->offset;
	sp = cfa;
	if (!read_moved(walk, rule->ra_words, cfa, &pc) ||
	    (rule->sp_words && !read_moved(walk, rule->sp_words, cfa, &sp)) ||
	    (rule->fp_save && !read_moved(walk, rule->fp_words, cfa, &fp)) ||
	    (rule->base_save && !read_moved(walk, rule->base_words, cfa, &base)))
		return UNWIND_BAD_STACK;
	walk->pc = arch_strip(pc);
	walk->sp = sp;
	walk->fp = fp;
	walk->base = base;
	walk->context = 0;
	/* A context that has not run yet starts at the beginning of a function. */
	walk->exact = !walk_follows_call(walk->pc);
	stack_memory_move(&walk->memory, sp, walk->stack_high);
	return STEP_ON;
}

#define SWITCHES_MAX 64

int walk_step_switched(struct walk *walk)
{
	uintptr_t frame = walk->fp, fp, ra;

	/* Go clears the register when the code on the thread's own stack has no waiting caller. */
	if (!frame)
		return UNWIND_COMPLETE;
	if (++walk->switches > SWITCHES_MAX)
		return UNWIND_BAD_STACK;
	/* The register may hold anything. */
	walk_distrust(walk);
	stack_memory_move(&walk->memory, frame, walk->stack_high);
	if (!walk_read(walk, frame, &fp) || !walk_read(walk, frame + sizeof(fp), &ra))
		return UNWIND_BAD_STACK;
	walk->pc = arch_strip(ra);
	walk->sp = frame + 2 * sizeof(ra);
	walk->fp = fp;
	walk->context = 0;
	walk->exact = false;
	return STEP_ON;
}
