/* engine/collect/tick_rate: one rate for all chunks of a process, unless the counter changes its rate. */
#include "engine/collect/tick_rate.h"

#include "test/fixtures/suite.h"

#define SECOND UINT64_C(1000000000)
#define START  (4000 * SECOND)
#define RATE   UINT64_C(2600000000)

static struct tick_rate rate;

/* Readings at NS since the start, with a counter that was read LATE ticks late. */
static uint64_t at(uint64_t ns, uint64_t late)
{
	struct tick_pair pair = { .ns = START + ns };

	pair.ticks = (uint64_t)((unsigned __int128)pair.ns * RATE / SECOND) + late;
	return tick_rate_at(&rate, pair);
}

START_TEST(it_is_not_known_from_one_moment)
{
	ck_assert_uint_eq(at(0, 0), 0);
}
END_TEST

START_TEST(it_is_the_same_in_every_chunk)
{
	at(0, 0);
	ck_assert_uint_eq(at(SECOND / 2, 0), RATE);
	ck_assert_uint_eq(at(2 * SECOND, 0), RATE);
	for (uint64_t n = 1; n < 100; n++) /* each read up to 10 us late */
		ck_assert_uint_eq(at(2 * SECOND + n * SECOND / 3, n % 7 * 4000), RATE);
}
END_TEST

START_TEST(a_counter_that_changes_its_rate_is_calibrated_anew)
{
	struct tick_pair pair;

	at(0, 0);
	ck_assert_uint_eq(at(10 * SECOND, 0), RATE);
	pair = rate.last;
	for (int i = 0; i < 3; i++) {
		pair.ns += 5 * SECOND;
		pair.ticks += 5 * RATE / 2;
		ck_assert_uint_eq(tick_rate_at(&rate, pair), i ? RATE / 2 : RATE);
	}
}
END_TEST

/* The machine was suspended, or the process was stopped with its virtual machine: the counter runs on. */
START_TEST(a_counter_that_jumps_has_the_same_rate)
{
	static const unsigned seconds[] = { 3600, 600, 5, 5 };
	struct tick_pair pair;

	at(0, 0);
	ck_assert_uint_eq(at(10 * SECOND, 0), RATE);
	pair = rate.last;
	for (int i = 0; i < 4; i++) {
		pair.ns += 5 * SECOND;
		pair.ticks += seconds[i] * RATE;
		ck_assert_uint_eq(tick_rate_at(&rate, pair), RATE);
	}
}
END_TEST

START_TEST(a_counter_that_begins_anew_does_not_divide_by_it)
{
	struct tick_pair pair;

	at(0, 0);
	ck_assert_uint_eq(at(10 * SECOND, 0), RATE);
	pair = (struct tick_pair){ .ns = START + 20 * SECOND, .ticks = 7 };
	ck_assert_uint_eq(tick_rate_at(&rate, pair), RATE);
	pair = (struct tick_pair){ .ns = START + 30 * SECOND, .ticks = 7 + 10 * RATE };
	tick_rate_at(&rate, pair);
	pair = (struct tick_pair){ .ns = START + 40 * SECOND, .ticks = 7 + 20 * RATE };
	ck_assert_uint_eq(tick_rate_at(&rate, pair), RATE);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, it_is_not_known_from_one_moment);
	tcase_add_test(tests, it_is_the_same_in_every_chunk);
	tcase_add_test(tests, a_counter_that_changes_its_rate_is_calibrated_anew);
	tcase_add_test(tests, a_counter_that_jumps_has_the_same_rate);
	tcase_add_test(tests, a_counter_that_begins_anew_does_not_divide_by_it);
	return suite_run(tests);
}
