/* engine/reading/walk_budget: a walk ends after its number of words, or after its time. */
#include "core/system.h"
#include "engine/reading/walk_budget.h"
#include "test/fixtures/suite.h"

static struct walk_budget budget;

/* Use the budget in parts of WORDS, with a pause of NS after each. Returns the number of words. */
static uint32_t use_up(uint32_t words, long ns)
{
	uint32_t used = 0;

	walk_budget_init(&budget);
	while (walk_budget_use(&budget, words)) {
		used += words;
		if (ns)
			system_sleep(ns);
	}
	ck_assert(walk_budget_is_spent(&budget));
	ck_assert(!walk_budget_use(&budget, 1));
	return used;
}

START_TEST(words_in_all)
{
	static const uint32_t parts[] = { 1, 7, WALK_BUDGET_COPY, WALK_BUDGET_CHECK };

	/* (On a slow machine the time ends it, after at least ten checks.) */
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		uint32_t used = use_up(parts[i], 0);

		ck_assert_uint_le(used, WALK_BUDGET_WORDS);
		ck_assert_uint_ge(used, 9 * WALK_BUDGET_CHECK);
	}
}
END_TEST

START_TEST(time_of_its_own)
{
	uint32_t used = use_up(WALK_BUDGET_CHECK, 2000000);

	ck_assert_uint_le(used, 12 * WALK_BUDGET_CHECK);
}
END_TEST

START_TEST(one_within_another)
{
	struct walk_budget inner, *outer;

	walk_budget_init(&budget);
	ck_assert_ptr_null(walk_budget_set(&budget));
	walk_budget_init(&inner);
	outer = walk_budget_set(&inner);
	ck_assert_ptr_eq(outer, &budget);
	ck_assert_ptr_eq(walk_budget_current(), &inner);
	walk_budget_set(outer);
	ck_assert_ptr_eq(walk_budget_current(), &budget);
	walk_budget_set(NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("walk_budget");

	tcase_add_test(tcase, words_in_all);
	tcase_add_test(tcase, time_of_its_own);
	tcase_add_test(tcase, one_within_another);
	return suite_run(tcase);
}
