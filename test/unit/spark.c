/* Samples over time, for each process, and sparklines. */
#include <string.h>

#include "profile/basics/spark.h"
#include "test/fixtures/suite.h"

START_TEST(samples_are_counted_by_time)
{
	static const struct {
		int64_t time_ns;
		int column; /* -1: outside */
	} cases[] = { { 1000, 0 },  { 1009, 0 }, { 1010, 1 },       { 1599, 59 },     { 1600, 59 },
		      { 1601, -1 }, { 999, -1 }, { INT64_MIN, -1 }, { INT64_MAX, -1 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sparks sparks = { .start_ns = 1000, .end_ns = 1600 };

		ck_assert(sparks_add(&sparks, "a", cases[i].time_ns, 3));
		ck_assert_uint_eq(sparks.processes.count, cases[i].column >= 0);
		if (cases[i].column >= 0)
			ck_assert_uint_eq(sparks.list[1].counts[cases[i].column], 3);
		sparks_free(&sparks);
	}
}
END_TEST

START_TEST(parts_are_added)
{
	struct sparks a = { .end_ns = 600 }, b = a;

	sparks_add(&a, "first", 0, 1);
	sparks_add(&b, "second", 0, 2);
	sparks_add(&b, "first", 599, 4);
	ck_assert(sparks_merge(&a, &b));
	ck_assert_uint_eq(a.processes.count, 2);
	ck_assert_uint_eq(a.list[1].samples, 5);
	ck_assert_uint_eq(a.list[1].counts[59], 4);
	ck_assert_uint_eq(a.list[2].samples, 2);
	sparks_free(&a);
	sparks_free(&b);
}
END_TEST

START_TEST(blocks_show_shares)
{
	uint64_t counts[SPARK_COLUMNS] = { 0, 1, 4, 8 };
	char text[SPARK_TEXT];

	spark_format(text, counts, 8);
	ck_assert(!strncmp(text, " \u2582\u2585\u2588 ", 11));
	ck_assert_uint_eq(strlen(text), SPARK_COLUMNS + 3 * 2);
	memset(counts, 1, sizeof(counts));
	spark_format(text, counts, counts[0]);
	ck_assert_uint_eq(strlen(text), SPARK_TEXT - 1);
	memset(counts, 0, sizeof(counts));
	spark_format(text, counts, 0);
	ck_assert_uint_eq(strspn(text, " "), SPARK_COLUMNS);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("spark");

	tcase_add_test(tcase, samples_are_counted_by_time);
	tcase_add_test(tcase, parts_are_added);
	tcase_add_test(tcase, blocks_show_shares);
	return suite_run(tcase);
}
