/* A walk under way, and how it goes from frame to frame. The files that walk share it. */
#ifndef ENGINE_UNWIND_UNWIND_WALK_H
#define ENGINE_UNWIND_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"
#include "engine/cfi/cfi_rules.h"
#include "engine/reading/memory_reader.h"
#include "engine/unwind/unwind_stats.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct walk {
	uintptr_t pc, sp, fp, base;
	uintptr_t context; /* ucontext with all registers of this frame; 0: in a caller */
	bool exact;        /* pc is an instruction to come, not a return address */
	bool bare;         /* the step before this one left code without unwind information */
	bool trial;        /* asks for the entry: zeros, of which stacks are full, mean nothing */
	unsigned
		switches; /* to other stacks, which lie anywhere: their number alone keeps it from going round */
	uintptr_t stack_high;
	struct memory_reader memory;
};

/* What a step comes to, beside enum unwind_end: there is a caller. */
enum { STEP_ON = UNWIND_ENDS };

static inline bool walk_read(struct walk *walk, uintptr_t address, uintptr_t *value)
{
	return address % sizeof(uintptr_t) == 0 && memory_read_word(&walk->memory, address, value);
}

/* What is guessed, or looked for, may be no frame at all. */
static inline void walk_distrust(struct walk *walk)
{
	memory_reader_distrust(&walk->memory);
}

/* The value of DWARF register NUMBER in this frame. */
static inline bool walk_register(struct walk *walk, unsigned number, uintptr_t *value)
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
		       walk_read(walk, walk->context + (uintptr_t)offset, value);
	return true;
}

/* Load a saved register, if RULE says that it was saved. */
static inline bool walk_restore(struct walk *walk, uint8_t save, int16_t words, uintptr_t cfa,
				uintptr_t *value)
{
	uintptr_t from = save == SAVE_CFA ? cfa : save == SAVE_FP ? walk->fp : walk->sp;

	if (save == SAVE_SAME)
		return true;
	return walk_read(walk, from + (uintptr_t)((intptr_t)words * 8), value);
}

/* Go to the caller of a frame whose CFA is known. */
static inline int walk_leave(struct walk *walk, const struct unwind_rule *rule, uintptr_t cfa)
{
	uintptr_t ra, fp = walk->fp, base = walk->base;

	/* A leaf may have no frame at all; any other that does not grow is a loop. */
	if (unlikely(cfa <= walk->sp && (cfa < walk->sp || !walk->exact || rule->ra_words)))
		return UNWIND_BAD_STACK;
	if (likely(rule->ra_words)) {
		if (!walk_read(walk, cfa + (uintptr_t)((intptr_t)rule->ra_words * 8), &ra))
			return UNWIND_BAD_STACK;
	} else if (!walk_register(walk, ARCH_RA, &ra)) {
		return UNWIND_NO_RULE;
	}
	if (!walk_restore(walk, rule->fp_save, rule->fp_words, cfa, &fp) ||
	    !walk_restore(walk, rule->base_save, rule->base_words, cfa, &base))
		return UNWIND_BAD_STACK;
	walk->pc = arch_strip(ra);
	walk->sp = cfa;
	walk->fp = fp;
	walk->base = base;
	walk->context = 0;
	walk->exact = false;
	return STEP_ON;
}

/* Take one step. */
int walk_step(struct walk *walk);

/* Or one of the rare ones: from code that no rule is for (of a just-in-time compiler, hand-written,
 * or none at all); */
int walk_step_bare(struct walk *walk);

/* by the frame pointer: the one saved, and the return address, lie where it points; */
int walk_step_chain(struct walk *walk);

/* from a signal handler's return to what it interrupted; */
int walk_step_signal(struct walk *walk);

/* by a RULE_MOVED; */
int walk_step_moved(struct walk *walk, const struct unwind_rule *rule);

/* by a RULE_SWITCH; */
int walk_step_switched(struct walk *walk);

/* out of what a Java machine has made: or not, UNWIND_NO_RULE; */
int walk_step_java(struct walk *walk);

/* by a RULE_THROW; */
int walk_step_throw(struct walk *walk, const struct unwind_rule *rule);

/* by the first return address on the stack that a call of this frame's function has left there: or not, where
 * there is none, UNWIND_COMPLETE where nobody is seen that may have called; */
int walk_step_scan(struct walk *walk);

/* Whether such a one lies where the frame pointer leads. */
bool walk_has_frame_pointer(struct walk *walk);

/* Whether WORD, from the stack, may be one. */
bool walk_is_return_address(const struct walk *walk, uintptr_t word);

/* Whether a function may return to PC: what is guessed, may be anything. */
bool walk_may_return_to(uintptr_t pc);

/* What the call right before RA calls, and, where that is a stub for another module's function, that
 * function; else the same twice. False where it cannot be told. */
bool walk_called(struct walk *walk, uintptr_t ra, uintptr_t *called, uintptr_t *stub_target);

/* As much code as any of arch_...() looks at, on each side. */
#define CODE_BYTES 16

/* A copy of the code round PC, of which another thread may unload the original. */
struct walk_code {
	uint8_t bytes[2 * CODE_BYTES];
	const uint8_t *at;    /* the middle of bytes[] */
	size_t before, after; /* bytes that could be read on each side */
};

/* Most words are numbers, or lead into the stack: of those nobody is asked. */
static inline bool walk_may_be_code(const struct walk *walk, uintptr_t word)
{
	return word >= MEMORY_PAGE && !(word >> ARCH_ADDRESS_BITS) &&
	       (word < walk->memory.low || word >= walk->memory.high);
}

/* Copy SIZE bytes of code at ADDRESS. False when they cannot all be read. */
bool walk_code_read(void *bytes, uintptr_t address, size_t size);

void walk_code_copy(struct walk_code *code, uintptr_t pc);

/* Whether there is a call right before PC. */
bool walk_follows_call(uintptr_t pc);

#endif
