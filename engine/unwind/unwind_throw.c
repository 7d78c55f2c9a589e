/* Steps out of functions that return to an exception handler: _Unwind_Resume and similar.
 *
 * Before such a function returns, it overwrites its saved registers with the values of the frame
 * that has the handler. First it writes the frame pointer, later the return address. That address
 * is then the one of the call in that frame, which is also still in its place on the stack. The
 * frames in between have ended, but are not overwritten yet. */
#include "engine/cfi/cfi_lookup.h"
#include "engine/unwind/unwind_map.h"
#include "engine/unwind/unwind_walk.h"

#define TRIAL_STEPS   256 /* enough steps to accept the frame */
#define STEP_WORDS    16  /* cost of each step */
#define SEARCH_WORDS  2048
#define SEARCH_TRIALS 32 /* each takes as long as a walk */

/* True when the walk reaches the thread's entry. With FP: also when it passes a frame with this
 * frame pointer. */
static bool reaches_entry(const struct walk *walk, uintptr_t fp)
{
	struct walk trial = *walk;
	int end = STEP_ON;

	trial.trial = true;
	for (int i = 0; i < TRIAL_STEPS && end == STEP_ON && walk_use(&trial, STEP_WORDS); i++) {
		end = walk_step(&trial);
		if (trial.fp == fp)
			fp = 0;
	}
	return !fp && (end == STEP_ON || end == UNWIND_COMPLETE);
}

/* The first page and the stack hold no code. */
bool walk_is_return_address(const struct walk *walk, uintptr_t word)
{
	return walk_may_be_code(walk, word) &&
	       (unwind_map_is_readable(word, 1) || memory_probe(word)) && walk_follows_call(word);
}

/* Move to the first frame further up with the return address WANTED (0: any) from which the walk
 * reaches the thread's entry. */
static bool throw_find_frame(struct walk *walk, uintptr_t wanted)
{
	struct walk found = *walk;
	int trials = 0;

	found.exact = false;
	for (int i = 0; i < SEARCH_WORDS && trials < SEARCH_TRIALS && walk_use(walk, 1); i++) {
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

/* If the frame pointer belongs to a frame further up, find the frame below it that leads to it. */
static bool throw_find_frame_pointer(struct walk *walk)
{
	struct walk found = *walk;
	uintptr_t word, end = walk->sp + SEARCH_WORDS * sizeof(word);
	int trials = 0;

	if (end > walk->fp)
		end = walk->fp;
	for (found.fp = walk->sp; found.fp < end && trials < SEARCH_TRIALS && walk_use(walk, 1);
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

bool walk_find_called(struct walk *walk, uintptr_t ra, uintptr_t *called, uintptr_t *stub_target)
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

/* True when the call before RA may call FUNCTION. */
static bool call_may_reach(struct walk *walk, uintptr_t ra, uintptr_t function)
{
	uintptr_t called, target;

	return !function || !walk_find_called(walk, ra, &called, &target) || called == function ||
	       target == function;
}

/* Continue at the caller of a frame of FUNCTION. */
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
	/* (Of several such frames, only the innermost is about to return.) */
	if (!walk->trial)
		throw_find_caller(walk, cfi_lookup_function(pc, walk->memory.block));
	return STEP_ON;
}
