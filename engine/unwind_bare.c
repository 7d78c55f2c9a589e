/* Leaves frames of code without unwind information, by what such code is known to do. */
#include "engine/unwind_map.h"
#include "engine/unwind_walk.h"

#define CODE_BYTES 16

void walk_readable_code(uintptr_t pc, size_t *before, size_t *after)
{
	*after = stack_memory_probe(pc) ? STACK_PAGE - pc % STACK_PAGE : 0;
	*before = *after ? pc % STACK_PAGE : 0;
	if (*after && *after < CODE_BYTES && stack_memory_probe(pc + CODE_BYTES - 1))
		*after = CODE_BYTES;
	if (*after && *before < CODE_BYTES && stack_memory_probe(pc - CODE_BYTES))
		*before = CODE_BYTES;
}

bool walk_is_behind_call(uintptr_t pc)
{
	size_t before, after;

	walk_readable_code(pc, &before, &after);
	return arch_is_behind_call((const uint8_t *)pc, before);
}

int walk_step_chain(struct walk *walk)
{
	static const struct unwind_rule rule = {
		.kind = RULE_FP, .offset = 16, .ra_words = -1, .fp_save = SAVE_CFA, .fp_words = -2
	};

	if (!walk->fp)
		/* The ABI's mark for the outermost frame. */
		return walk->trial ? UNWIND_NO_RULE : UNWIND_COMPLETE;
	if (walk->fp < walk->sp)
		return UNWIND_NO_RULE;
	return walk_leave(walk, &rule, walk->fp + 16);
}

/* The function has BYTES on the stack, and the frame pointer is its caller's. */
static int leave_by_stack_pointer(struct walk *walk, size_t bytes)
{
	static const struct unwind_rule rule = { .kind = RULE_SP, .ra_words = -1 };

	return walk_leave(walk, &rule, walk->sp + bytes + sizeof(uintptr_t));
}

static bool returns_from(struct walk *walk, uintptr_t slot)
{
	uintptr_t ra;

	return walk_read(walk, slot, &ra) && walk_is_behind_call(ra);
}

/* What can be told from where there are return addresses: a stub or a hand-written leaf pushes
 * nothing; .init, and what runs constructors and destructors, push one word. */
static int leave_by_return_address(struct walk *walk)
{
	if (returns_from(walk, walk->sp))
		return leave_by_stack_pointer(walk, 0);
	if (!returns_from(walk, walk->fp + sizeof(uintptr_t)) &&
	    returns_from(walk, walk->sp + sizeof(uintptr_t)))
		return leave_by_stack_pointer(walk, sizeof(uintptr_t));
	return walk_step_chain(walk);
}

static int leave_leaf(struct walk *walk, size_t before, size_t after)
{
	static const struct unwind_rule in_link = { .kind = RULE_SP };

	switch (arch_leaf_at((const uint8_t *)walk->pc, before, after)) {
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
	size_t before, after, bytes;

	walk_readable_code(walk->pc, &before, &after);
	if (!after)
		/* A call through a wild pointer can still be told. */
		return walk->exact && ARCH_RA == 16 ? leave_by_stack_pointer(walk, 0)
						    : UNWIND_NO_RULE;
	if (arch_is_sigreturn((const uint8_t *)walk->pc, after))
		return walk_step_signal(walk);
	bytes = arch_epilogue((const uint8_t *)walk->pc, after);
	/* It is about to return: so is .init, which runs constructors, and has no other sign of its
	 * frame. */
	if (bytes)
		return leave_by_stack_pointer(walk, bytes);
	if (walk->exact)
		return leave_leaf(walk, before, after);
	unwind_map_remember(walk->pc - 1, RULE_INDEX_CHAIN);
	return walk_step_chain(walk);
}
