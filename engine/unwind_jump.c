/* Frames whose caller is not up the stack. */
#include "engine/unwind_walk.h"

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
	/* A handler on an alternate stack interrupted the thread's own. */
	stack_memory_move(&walk->memory, sp, walk->stack_high);
	return true;
}

int walk_step_signal(struct walk *walk)
{
	return enter_context(walk, walk->sp + ARCH_UCONTEXT_SKIP) ? STEP_ON : UNWIND_BAD_STACK;
}
