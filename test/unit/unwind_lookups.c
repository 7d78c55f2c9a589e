/* Rules that walks looked up: found again, replaced, forgotten, and never mixed up by threads. */
#include "engine/unwind_lookups.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "test/fixtures/suite.h"

#define THREADS 4
#define PLACES  2000 /* more than fit */
#define RIVALS  3
#define ROUNDS  100000

/* One that tells of which PC it is in each member. */
static struct unwind_rule rule_of(uintptr_t pc)
{
	return (struct unwind_rule){
		.kind = RULE_SP,
		.reg = (uint8_t)pc,
		.offset = (int32_t)pc,
		.offset2 = (int32_t)~pc,
		.ra_words = (int16_t)pc,
		.base_words = (int16_t)~pc,
	};
}

static bool is_rule_of(const struct unwind_rule *rule, uintptr_t pc)
{
	struct unwind_rule wanted = rule_of(pc);

	return !memcmp(rule, &wanted, sizeof(wanted));
}

static void keep(uintptr_t pc)
{
	struct unwind_rule rule = rule_of(pc);

	unwind_lookups_keep(&rule, pc);
}

START_TEST(kept_and_cleared)
{
	struct unwind_rule rule;

	ck_assert(!unwind_lookups_find(&rule, 0x401000));
	keep(0x401000);
	ck_assert(unwind_lookups_find(&rule, 0x401000));
	ck_assert(is_rule_of(&rule, 0x401000));
	ck_assert(!unwind_lookups_find(&rule, 0x401001));
	unwind_lookups_clear();
	ck_assert(!unwind_lookups_find(&rule, 0x401000));
	keep(0x401000);
	ck_assert(unwind_lookups_find(&rule, 0x401000));
}
END_TEST

/* The last place is there, and some of those before. */
START_TEST(bounded)
{
	struct unwind_rule rule;
	unsigned found = 0;

	for (uintptr_t pc = 1; pc <= PLACES; pc++) {
		keep(pc);
		ck_assert(unwind_lookups_find(&rule, pc));
	}
	for (uintptr_t pc = 1; pc <= PLACES; pc++)
		if (unwind_lookups_find(&rule, pc)) {
			ck_assert(is_rule_of(&rule, pc));
			found++;
		}
	ck_assert_uint_gt(found, 0);
	ck_assert_uint_lt(found, PLACES);
}
END_TEST

/* Places that push each other out. */
static uintptr_t rivals[RIVALS];

static void find_rivals(void)
{
	struct unwind_rule rule;
	uintptr_t pc = 1;

	for (size_t i = 0; i < RIVALS; i++) {
		do {
			keep(1);
			keep(++pc);
		} while (unwind_lookups_find(&rule, 1));
		rivals[i] = pc;
	}
}

static void *keep_and_find(void *wrong)
{
	struct unwind_rule rule;
	uint32_t random = (uint32_t)(uintptr_t)&rule | 1;

	for (int i = 0; i < ROUNDS; i++) {
		random = random * 1664525u + 1013904223u;
		keep(rivals[(random >> 8) % RIVALS]);
		for (size_t k = 0; k < RIVALS; k++)
			if (unwind_lookups_find(&rule, rivals[k]) && !is_rule_of(&rule, rivals[k]))
				atomic_fetch_add((atomic_uint *)wrong, 1);
		if (random >> 20 == 0)
			unwind_lookups_clear();
	}
	return NULL;
}

START_TEST(threads_do_not_mix_rules_up)
{
	pthread_t threads[THREADS];
	atomic_uint wrong = 0;

	find_rivals();
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, keep_and_find, &wrong), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("unwind_lookups");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, kept_and_cleared);
	tcase_add_test(tcase, bounded);
	tcase_add_test(tcase, threads_do_not_mix_rules_up);
	return suite_run(tcase);
}
