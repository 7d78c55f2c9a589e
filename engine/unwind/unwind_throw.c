/* Frames of functions that return to an exception handler: _Unwind_Resume and its like.
 *
 * Before such a function returns, it puts what the frame with the handler needs over what it has
 * saved for its caller: first the frame pointer, later the return address, which then is that of
 * the call that the frame was in, and still lies there too. The frames between are done with, but
 * have not been overwritten. */
#include "engine/cfi/cfi_lookup.h"
#include "engine/unwind/unwind_map.h"
#include "engine/unwind/unwind_walk.h"

#define TRIAL_STEPS   256 /* enough to believe it */
#define SEARCH_WORDS  2048
#define SEARCH_TRIALS 32 /* as each takes as long as a walk */

/* Whether the walk gets to the entry of the thread; with FP, past a frame that has this frame pointer
 * restored. */
static bool reaches_entry(const struct walk *walk, uintptr_t fp)
{
	struct walk trial = *walk;
	int end = STEP_ON;

	trial.trial = true;
	for (int i = 0; i < TRIAL_STEPS && end == STEP_ON; i++) {
		end = walk_step(&trial);
		if (trial.fp == fp)
			fp = 0;
	}
	return !fp && (end == STEP_ON || end == UNWIND_COMPLETE);
}

/* The first page holds no code, nor does the stack. */
bool walk_is_return_address(const struct walk *walk, uintptr_t word)
{
	return walk_may_be_code(walk, word) &&
	       (unwind_map_is_readable(word, 1) || memory_probe(word)) && walk_follows_call(word);
}

/* Go to the first frame further up with the return address WANTED (0: any) that gets to the entry. */
static bool throw_find_frame(struct walk *walk, uintptr_t wanted)
{
	struct walk found = *walk;
	int trials = 0;

	found.exact = false;
	for (int i = 0; i < SEARCH_WORDS && trials < SEARCH_TRIALS; i++) {
		if (!walk_read(walk, found.sp, &found.pc))
			break;
		found.sp += sizeof(uintptr_t);
		if (wanted ? found.pc != wanted : !walk_is_return_address(walk, found.pc))
			continue;
		trials++;
		if (reaches_entry(&found, 0)) {
			walk->pc = found.pc;
			walk->sp = found.sp;
			walk->exact = false;
			return true;
		}
	}
	return false;
}

/* If the frame pointer is that of a frame further up, there is another below it, with which the walk
 * comes to that frame. */
static bool throw_find_frame_pointer(struct walk *walk)
{
	struct walk found = *walk;
	uintptr_t word, end = walk->sp + SEARCH_WORDS * sizeof(word);
	int trials = 0;

	if (end > walk->fp)
		end = walk->fp;
	for (found.fp = walk->sp; found.fp < end && trials < SEARCH_TRIALS;
	     found.fp += sizeof(word)) {
		if (!walk_read(walk, found.fp + sizeof(word), &word))
			break;
		if (!walk_is_return_address(walk, word))
			continue;
		trials++;
		if (reaches_entry(&found, walk->fp)) {
			walk->fp = found.fp;
			return true;
		}
	}
	return false;
}

static bool target_address(struct walk *walk, const struct arch_target *target, uintptr_t *address)
{
	*address = target->address;
	return !target->indirect || walk_read(walk, target->address, address);
}

bool walk_called(struct walk *walk, uintptr_t ra, uintptr_t *called, uintptr_t *stub_target)
{
	struct arch_target target;
	struct walk_code code;

	walk_code_copy(&code, ra);
	if (!arch_call_target(&target, code.at, ra, code.before) ||
	    !target_address(walk, &target, called))
		return false;
	walk_code_copy(&code, *called);
	if (!arch_stub_target(&target, code.at, *called, code.after) ||
	    !target_address(walk, &target, stub_target))
		*stub_target = *called;
	return true;
}

/* Whether the call before RA may be one of FUNCTION. */
static bool call_may_reach(struct walk *walk, uintptr_t ra, uintptr_t function)
{
	uintptr_t called, behind;

	return !function || !walk_called(walk, ra, &called, &behind) || called == function ||
	       behind == function;
}

/* Go on from where a frame of FUNCTION returns to. */
static void throw_find_caller(struct walk *walk, uintptr_t function)
{
	walk_distrust(walk);
	if (!call_may_reach(walk, walk->pc, function) && throw_find_frame(walk, walk->pc))
		return;
	if (!throw_find_frame_pointer(walk) && !reaches_entry(walk, 0))
		throw_find_frame(walk, 0);
}

int walk_step_throw(struct walk *walk, const struct unwind_rule *rule)
{
	uintptr_t pc = walk->exact ? walk->pc : walk->pc - 1, cfa;
	int end;

	if (!walk_register(walk, rule->reg, &cfa))
		return UNWIND_NO_RULE;
	end = walk_leave(walk, rule, cfa + (uintptr_t)(intptr_t)rule->offset);
	if (end != STEP_ON)
		return end;
	/* By now it may be the handler's first instruction. */
	walk->exact = !walk_follows_call(walk->pc);
	/* (Of several such frames only the innermost is about to return.) */
	if (!walk->trial)
		throw_find_caller(walk, cfi_lookup_function(pc, walk->memory.block));
	return STEP_ON;
}
