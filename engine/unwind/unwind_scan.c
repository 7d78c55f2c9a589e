/* Leaves frames of functions that tell nothing of themselves: musl's, which have neither unwind information nor
 * frame pointers.
 *
 * Somewhere above lies the address that the function returns to, and right before that address is the call of
 * it. A word of the stack counts as that address only where the call is seen to be one of this very function, and
 * where its own caller is found as well: one that is left from an earlier call, of which stacks are full, would
 * put a wrong caller into the profile. */
#include "core/preload_code.h"
#include "engine/unwind/unwind_map.h"
#include "engine/unwind/unwind_walk.h"

/* So far below its caller's frame a function may be that is left in this way. */
#define SCAN_WORDS 1024

/* So many words are looked at through the code that they lead to, which takes a system call or two. */
#define SCAN_TRIALS 64

/* So many frames of such functions at most lie one upon another. */
#define REACH_STEPS 12

/* What a function does before it goes on as another one, as malloc() does in musl. */
#define JUMP_BYTES 64

/* Whether the call before RA is one of the function that the frame is in, of one that ends in it, or of one
 * of the preload, which hands on to the C library's. */
static bool scan_is_call(struct walk *walk, uintptr_t ra)
{
	uintptr_t called, behind, function = unwind_map_function(walk->pc - !walk->exact);
	uint8_t code[JUMP_BYTES];

	if (!function || !walk_called(walk, ra, &called, &behind))
		return false;
	return behind == function || preload_code_is_call(behind) ||
	       (walk_code_read(code, behind, sizeof(code)) &&
		arch_jumps_to(code, sizeof(code), behind, function));
}

/* The frame pointer is the caller's, unless this function has saved that and used it for something else. One
 * that is the caller's own leads to where the caller returns to. */
static uintptr_t saved_frame_pointer(struct walk *walk, uintptr_t slot)
{
	uintptr_t word, ra;

	if (walk->fp > slot && walk_read(walk, walk->fp + sizeof(ra), &ra) &&
	    walk_is_return_address(walk, ra))
		return walk->fp;
	for (uintptr_t at = slot; at > walk->sp;) {
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

/* A caller's address may be left from an earlier call. So this one is believed only when the walk gets from it to
 * code that has unwind information, and out of there again. */
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

/* Go to the frame whose return address is in SLOT. */
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

	for (int i = 0; i < SCAN_WORDS && trials < SCAN_TRIALS; i++, slot += sizeof(word)) {
		/* (Where the stack ends, if that is known, nobody need be asked.) */
		if (slot == walk->memory.high || !walk_read(walk, slot, &word))
			break;
		/* The call is right before; a module's beginning, to which words lead that the system has put
		 * there, is behind none. */
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
