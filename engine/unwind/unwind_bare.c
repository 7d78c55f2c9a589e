/* Steps out of code without unwind information, by known properties of such code. */
#include "engine/unwind/unwind_map.h"
#include "engine/unwind/unwind_walk.h"

bool walk_code_read(void *bytes, uintptr_t address, size_t size)
{
	struct walk_budget *budget = walk_budget_current();

	if (!unwind_map_is_readable(address, size))
		return (!budget || walk_budget_use(budget, WALK_BUDGET_COPY)) &&
		       memory_copy(bytes, address, size);
	memory_take(bytes, address, size);
	return true;
}

void walk_code_copy(struct walk_code *code, uintptr_t pc)
{
	size_t in_page = pc % MEMORY_PAGE;

	code->at = code->bytes + CODE_BYTES;
	code->before = code->after = CODE_BYTES;
	if (walk_code_read(code->bytes, pc - CODE_BYTES, sizeof(code->bytes)))
		return;
	/* Retry with the part in the page of PC. */
	if (code->before > in_page)
		code->before = in_page;
	if (code->after > MEMORY_PAGE - in_page)
		code->after = MEMORY_PAGE - in_page;
	if (!walk_code_read(code->bytes + CODE_BYTES - code->before, pc - code->before,
			    code->before + code->after))
		code->before = code->after = 0;
}

bool walk_follows_call(uintptr_t pc)
{
	struct walk_code code;

	walk_code_copy(&code, pc);
	return arch_is_behind_call(code.at, code.before);
}

bool walk_may_return_to(uintptr_t pc)
{
	return !pc || (pc >= MEMORY_PAGE && !(pc >> ARCH_ADDRESS_BITS) &&
		       (unwind_map_find(pc - 1) >= RULE_INDEX_END || walk_follows_call(pc)));
}

static int step_chain(struct walk *walk)
{
	static const struct unwind_rule rule = {
		.kind = RULE_FP, .offset = 16, .ra_words = -1, .fp_save = SAVE_CFA, .fp_words = -2
	};

	if (!walk->fp)
		/* The ABI marks the outermost frame with 0. */
		return walk->trial ? UNWIND_NO_RULE : UNWIND_COMPLETE;
	if (walk->fp < walk->sp)
		return UNWIND_NO_RULE;
	walk_distrust(walk);
	return walk_leave(walk, &rule, walk->fp + 16);
}

/* Just-in-time compilers keep frame pointers for unwinders. A module without unwind information may
 * use the register for anything. There the call instruction is checked: the frame chain is used
 * only if it leads to an address after a call. */
int walk_step_chain(struct walk *walk)
{
	bool has_module;
	int end;

	walk->bare = true;
	if (walk_step_java(walk) == STEP_ON)
		return STEP_ON;
	if (!unwind_map_function(walk->pc - !walk->exact)) {
		has_module = unwind_map_has_module(walk->pc - !walk->exact);
		end = step_chain(walk);
		return end == STEP_ON && has_module && !walk_may_return_to(walk->pc)
			       ? UNWIND_NO_RULE
			       : end;
	}
	walk_distrust(walk);
	if (!walk_has_frame_pointer(walk)) {
		end = walk_step_scan(walk);
		if (end != UNWIND_NO_RULE)
			return end;
	}
	end = step_chain(walk);
	return end == STEP_ON && !walk_may_return_to(walk->pc) ? UNWIND_NO_RULE : end;
}

/* Leave a function that has BYTES on the stack; the frame pointer is its caller's. */
static int leave_by_stack_pointer(struct walk *walk, size_t bytes)
{
	static const struct unwind_rule rule = { .kind = RULE_SP, .ra_words = -1 };

	return walk_leave(walk, &rule, walk->sp + bytes + sizeof(uintptr_t));
}

static bool returns_from(struct walk *walk, uintptr_t slot)
{
	uintptr_t ra;

	return walk_read(walk, slot, &ra) && walk_follows_call(ra);
}

/* Find the frame layout by the position of return addresses. A stub or a hand-written leaf
 * pushes nothing. The code in .init, and the code that runs constructors and destructors, pushes
 * one word. */
static int leave_by_return_address(struct walk *walk)
{
	if (returns_from(walk, walk->sp))
		return leave_by_stack_pointer(walk, 0);
	if (!returns_from(walk, walk->fp + sizeof(uintptr_t)) &&
	    returns_from(walk, walk->sp + sizeof(uintptr_t)))
		return leave_by_stack_pointer(walk, sizeof(uintptr_t));
	return walk_step_chain(walk);
}

static int leave_leaf(struct walk *walk, const struct walk_code *code)
{
	static const struct unwind_rule in_link = { .kind = RULE_SP };

	switch (arch_leaf_at(code->at, code->before, code->after)) {
	case ARCH_LEAF_RETURN_AT_SP:
		return leave_by_stack_pointer(walk, 0);
	case ARCH_LEAF_FP_AT_SP:
		return leave_by_stack_pointer(walk, sizeof(uintptr_t));
	case ARCH_LEAF_RETURN_IN_LINK:
		return walk_leave(walk, &in_link, walk->sp);
	case ARCH_LEAF_FRAME_POINTER:
		break;
	}
	return ARCH_RA == 16 ? leave_by_return_address(walk) : walk_step_chain(walk);
}

int walk_step_bare(struct walk *walk)
{
	struct walk_code code;
	size_t bytes;

	walk->bare = true;
	if (walk_step_java(walk) == STEP_ON)
		return STEP_ON;
	walk_code_copy(&code, walk->pc);
	if (!code.after) {
		walk_distrust(walk);
		/* After a call through a wild pointer, the return address is still on the stack. */
		return walk->exact && ARCH_RA == 16 ? leave_by_stack_pointer(walk, 0)
						    : UNWIND_NO_RULE;
	}
	if (arch_is_sigreturn(code.at, code.after))
		return walk_step_signal(walk);
	walk_distrust(walk);
	bytes = arch_epilogue(code.at, code.after);
	/* The function is about to return. This also covers .init, which runs constructors and has
	 * no other sign of its frame. */
	if (bytes)
		return leave_by_stack_pointer(walk, bytes);
	if (walk->exact)
		return leave_leaf(walk, &code);
	unwind_map_cache_rule(walk->pc - 1, RULE_INDEX_CHAIN);
	return walk_step_chain(walk);
}
