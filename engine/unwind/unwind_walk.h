/* State of a walk, and its steps from frame to frame. Shared by the files of the unwinder. All functions
 * are async-signal-safe. */
#ifndef ENGINE_UNWIND_UNWIND_WALK_H
#define ENGINE_UNWIND_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/code.h"
#include "engine/cfi/cfi_rules.h"
#include "engine/reading/memory_reader.h"
#include "engine/unwind/unwind_stats.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct walk {
	uintptr_t pc, sp, fp, base; /* registers of this frame; base is register ARCH_BASE */
	uintptr_t context; /* ucontext with all registers of this frame; 0: a caller's frame */
	bool exact;        /* pc is the next instruction, not a return address */
	bool bare;         /* the last step left code without unwind information */
	/* This walk only checks whether it reaches the thread's entry. It does not accept a zero pc or frame
	 * pointer as the end: a stack contains many zeros. */
	bool trial;
	/* Number of switches to other stacks. It is limited, because sp does not always grow there. */
	unsigned switches;
	uintptr_t stack_high;
	uintptr_t no_stub, no_stub_end; /* range that contains no Java call stub */
	struct memory_reader memory;
	struct walk_budget *budget;
};

/* Result of a step, in addition to enum unwind_end: a caller was found. */
enum { STEP_ON = UNWIND_ENDS };

/* Read the word at ADDRESS. Returns false if it is not aligned or cannot be read. */
static inline bool walk_read(struct walk *walk, uintptr_t address, uintptr_t *value)
{
	return address % sizeof(uintptr_t) == 0 && memory_read_word(&walk->memory, address, value);
}

/* Consume WORDS of the walk's budget. Returns false when the budget is spent. */
static inline bool walk_use(struct walk *walk, uint32_t words)
{
	return walk_budget_use(walk->budget, words);
}

/* Guessed frames may be anything: check their memory before each read. */
static inline void walk_distrust(struct walk *walk)
{
	memory_reader_distrust(&walk->memory);
}

/* Get the value of DWARF register NUMBER in this frame. Returns false if it is not known. */
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

/* Read the caller's value of a register, saved WORDS words from the address that SAVE, an enum
 * rule_save, selects. SAVE_SAME: *VALUE stays. Returns false if the memory cannot be read. */
static inline bool walk_restore(struct walk *walk, uint8_t save, int16_t words, uintptr_t cfa,
				uintptr_t *value)
{
	uintptr_t from = save == SAVE_CFA ? cfa : save == SAVE_FP ? walk->fp : walk->sp;

	if (save == SAVE_SAME)
		return true;
	return walk_read(walk, from + (uintptr_t)((intptr_t)words * 8), value);
}

/* Move to the caller of a frame whose CFA is known. Returns STEP_ON or an enum unwind_end. */
static inline int walk_leave(struct walk *walk, const struct unwind_rule *rule, uintptr_t cfa)
{
	uintptr_t ra, fp = walk->fp, base = walk->base;

	/* Only a leaf may leave sp unchanged. Otherwise sp must grow, or the walk may be endless. */
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

/* Move to the caller by the rule for pc. This and the steps below return STEP_ON, or an enum
 * unwind_end if there is no caller or it is not found. */
int walk_step(struct walk *walk);

/* Step out of code without a rule: generated or hand-written, or an address without code. */
int walk_step_bare(struct walk *walk);

/* Step by the frame pointer: it points to the saved frame pointer, which the return address follows. */
int walk_step_chain(struct walk *walk);

/* Step from the code to which a signal handler returns (sigreturn(2)) to the interrupted frame. */
int walk_step_signal(struct walk *walk);

/* Step by a RULE_MOVED: out of longjmp(3) or similar, to the frame whose registers it loads. */
int walk_step_moved(struct walk *walk, const struct unwind_rule *rule);

/* Step by a RULE_SWITCH: to the stack that this code has switched away from. */
int walk_step_switched(struct walk *walk);

/* Step out of code that a Java virtual machine has generated. Returns UNWIND_NO_RULE for other
 * code. */
int walk_step_java(struct walk *walk);

/* Step by a RULE_THROW: out of a function that returns to an exception handler. */
int walk_step_throw(struct walk *walk, const struct unwind_rule *rule);

/* Search the stack for the first return address that follows a call of this frame's function, and step
 * there. Returns UNWIND_NO_RULE if there is none, and UNWIND_COMPLETE if the stack has no possible
 * caller at all. */
int walk_step_scan(struct walk *walk);

/* True when the frame pointer leads to a return address that follows a call of this frame's function. */
bool walk_has_frame_pointer(struct walk *walk);

/* True when WORD, from the stack, may be a return address. */
bool walk_is_return_address(const struct walk *walk, uintptr_t word);

/* True when PC, a guess, may be a return address: it is 0, in code with a rule, or after a call. */
bool walk_may_return_to(uintptr_t pc);

/* Get the target of the call just before RA. If the target is a stub for another module's function,
 * *STUB_TARGET is that function; else it is the target. Returns false if the target is unknown. */
bool walk_find_called(struct walk *walk, uintptr_t ra, uintptr_t *called, uintptr_t *stub_target);

/* Code bytes on each side of an address; no arch_...() function reads more. */
#define CODE_BYTES 16

/* A copy of the code around PC; another thread may unload the original. */
struct walk_code {
	uint8_t bytes[2 * CODE_BYTES];
	const uint8_t *at;    /* the middle of bytes[] */
	size_t before, after; /* readable bytes on each side */
};

/* A cheap check first: most words are numbers, or addresses in the stack. */
static inline bool walk_may_be_code(const struct walk *walk, uintptr_t word)
{
	return word >= MEMORY_PAGE && !(word >> ARCH_ADDRESS_BITS) &&
	       (word < walk->memory.low || word >= walk->memory.high);
}

/* Copy SIZE bytes of code at ADDRESS. Returns false if some cannot be read. */
bool walk_code_read(void *bytes, uintptr_t address, size_t size);

void walk_code_copy(struct walk_code *code, uintptr_t pc);

/* True when there is a call just before PC. */
bool walk_follows_call(uintptr_t pc);

#endif
