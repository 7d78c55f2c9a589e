/* Budget of one stack walk. */
#include "engine/reading/walk_budget.h"

#include "core/clock.h"

/* Longer intervals between two clock reads are cut to this: then the thread had no processor. */
#define CHECK_NS_MAX 100000u

static __thread struct walk_budget *current;

static bool is_late(struct walk_budget *budget)
{
	uint64_t now_ns = clock_monotonic_ns(), took_ns;

	took_ns = budget->checked_ns ? now_ns - budget->checked_ns : 0;
	if (took_ns > CHECK_NS_MAX)
		took_ns = CHECK_NS_MAX;
	budget->checked_ns = now_ns;
	if (took_ns >= budget->left_ns)
		return true;
	budget->left_ns -= took_ns;
	return false;
}

bool walk_budget_check(struct walk_budget *budget, uint32_t words)
{
	uint32_t next = WALK_BUDGET_CHECK + budget->until_check;

	if (!budget->until_check)
		return false;
	if (budget->words < WALK_BUDGET_CHECK || is_late(budget)) {
		budget->words = budget->until_check = 0;
		return false;
	}
	budget->words -= WALK_BUDGET_CHECK;
	budget->until_check = next - words;
	return true;
}

struct walk_budget *walk_budget_current(void)
{
	return current;
}

struct walk_budget *walk_budget_set(struct walk_budget *budget)
{
	struct walk_budget *before = current;

	current = budget;
	return before;
}
