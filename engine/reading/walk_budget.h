/* Budget of one stack walk: limits of its reads and its time.
 *
 * Without unwind information a walk guesses: it scans the stack for return addresses, and follows
 * an interpreter's pointers. All walks of a sample, native and interpreted, share one budget,
 * including their trials. When it is spent, the stack ends with STACK_CALLERS_UNKNOWN, or at the
 * last frame found. Async-signal-safe. */
#ifndef ENGINE_READING_WALK_BUDGET_H
#define ENGINE_READING_WALK_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* In words read in place: about a nanosecond each. */
#define WALK_BUDGET_WORDS (512u << 10)

/* Cost of a copy by the kernel, relative to such a word. */
#define WALK_BUDGET_COPY 256u

/* Number of words between two checks of the time. */
#define WALK_BUDGET_CHECK 4096u

#define WALK_BUDGET_NS 1000000u

struct walk_budget {
	uint32_t words;       /* words left after the next check of the time */
	uint32_t until_check; /* words until the next check; 0 and no WORDS: spent */
	uint64_t checked_ns;  /* time of the last check; 0: none yet */
	uint64_t left_ns;
};

static inline void walk_budget_init(struct walk_budget *budget)
{
	*budget = (struct walk_budget){ .words = WALK_BUDGET_WORDS - WALK_BUDGET_CHECK,
					.until_check = WALK_BUDGET_CHECK,
					.left_ns = WALK_BUDGET_NS };
}

static inline bool walk_budget_is_spent(const struct walk_budget *budget)
{
	return !budget->until_check;
}

bool walk_budget_check(struct walk_budget *budget, uint32_t words);

/* Consume WORDS of the budget, at most WALK_BUDGET_CHECK. Returns false when it is spent. */
static inline bool walk_budget_use(struct walk_budget *budget, uint32_t words)
{
	if (__builtin_expect(budget->until_check <= words, 0))
		return walk_budget_check(budget, words);
	budget->until_check -= words;
	return true;
}

/* The budget of the calling thread's current sample; NULL: each walk has its own. Host's side. */
struct walk_budget *walk_budget_current(void);

/* Set the budget of the current sample. Returns the previous one, because one sample may interrupt
 * another. Host's side. */
struct walk_budget *walk_budget_set(struct walk_budget *budget);

#endif
