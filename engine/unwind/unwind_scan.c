/* Steps out of functions with neither unwind information nor frame pointers, such as musl's.
 *
 * The function's return address is somewhere further up the stack, and the instruction before it is
 * the call. Stacks also contain stale return addresses of earlier calls, which would put a wrong
 * caller into the profile. So a word counts as the return address only if the call before it is one
 * of this function, and if its own caller is found too. */
#include "core/preload_code.h"
#include "engine/unwind/unwind_map.h"
#include "engine/unwind/unwind_walk.h"

/* Maximum distance between such a function and its caller's frame. */
#define SCAN_WORDS 1024

/* Maximum number of words whose code is checked, which takes a system call or two each. */
#define SCAN_TRIALS 64

/* Maximum number of such frames in a row. */
#define REACH_STEPS 12

/* Bytes of a function that are checked for a jump to another one, as in musl's malloc(). */
#define JUMP_BYTES 64

/* True when the call before RA calls this frame's function, or a function that jumps to it, or a
 * function of the preload, which forwards to the C library's. */
static bool scan_is_call(struct walk *walk, uintptr_t ra)
{
	uintptr_t called, target, function = unwind_map_function(walk->pc - !walk->exact);
	uint8_t code[JUMP_BYTES];

	if (!function || !walk_find_called(walk, ra, &called, &target))
		return false;
	return target == function || preload_code_is_call(target) ||
	       (walk_code_read(code, target, sizeof(code)) &&
		arch_jumps_to(code, sizeof(code), target, function));
}

/* The frame pointer of the caller. It is in the register, unless this function has saved it and
 * uses the register itself. A frame pointer that is the caller's own leads to the caller's return
 * address. */
static uintptr_t saved_frame_pointer(struct walk *walk, uintptr_t slot)
{
	uintptr_t word, ra;

	if (walk->fp > slot && walk_read(walk, walk->fp + sizeof(ra), &ra) &&
	    walk_is_return_address(walk, ra))
		return walk->fp;
	for (uintptr_t at = slot; at > walk->sp && walk_use(walk, 1);) {
		at -= sizeof(word);
		if (walk_read(walk, at, &word) && word > slot && word - slot < (1u << 20) &&
		    walk_read(walk, word + sizeof(ra), &ra) && walk_is_return_address(walk, ra))
			return word;
	}
	return walk->fp;
}

bool walk_has_frame_pointer(struct walk *walk)
{
	uintptr_t ra;

	return walk->fp >= walk->sp && walk_read(walk, walk->fp + sizeof(ra), &ra) &&
	       unwind_map_has_module(ra - 1) && scan_is_call(walk, ra);
}

/* A caller's address may be stale. It is accepted only if the walk gets from it to code with unwind
 * information, and out of that again. */
static bool scan_reaches_rules(const struct walk *walk)
{
	struct walk trial = *walk;
	bool has_rule;
	int end;

	trial.trial = true;
	for (int i = 0; i < REACH_STEPS; i++) {
		has_rule = unwind_map_find(trial.pc - 1) >= RULE_INDEX_FIRST;
		end = walk_step(&trial);
		if (end != STEP_ON)
			return has_rule && end == UNWIND_COMPLETE;
		if (has_rule)
			return walk_may_return_to(trial.pc);
	}
	return false;
}

/* Move to the frame whose return address is in SLOT, if that is plausible. */
static bool scan_accept_slot(struct walk *walk, uintptr_t slot)
{
	static const struct unwind_rule rule = { .kind = RULE_SP, .ra_words = -1 };
	struct walk found = *walk;

	found.fp = saved_frame_pointer(walk, slot);
	if (walk_leave(&found, &rule, slot + sizeof(slot)) != STEP_ON ||
	    !(walk->trial || scan_reaches_rules(&found)))
		return false;
	*walk = found;
	return true;
}

int walk_step_scan(struct walk *walk)
{
	uintptr_t slot = walk->sp, word;
	bool has_callers = false;
	int trials = 0;

	for (int i = 0; i < SCAN_WORDS && trials < SCAN_TRIALS && walk_use(walk, 1);
	     i++, slot += sizeof(word)) {
		/* (Do not read beyond the known end of the stack.) */
		if (slot == walk->memory.high || !walk_read(walk, slot, &word))
			break;
		/* The call instruction is just before the address. The start of a module follows no
		 * call; the system puts such addresses on the stack. */
		if (!walk_may_be_code(walk, word) || !unwind_map_has_module(word - 1))
			continue;
		trials++;
		if (scan_is_call(walk, word) && scan_accept_slot(walk, slot))
			return STEP_ON;
		has_callers |=
			unwind_map_find(word - 1) >= RULE_INDEX_FIRST && walk_follows_call(word);
	}
	return has_callers ? UNWIND_NO_RULE : UNWIND_COMPLETE;
}
