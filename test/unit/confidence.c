/* profile/basics/confidence: the error of a share, and its number of digits. */
#include "profile/basics/confidence.h"

#include <math.h>
#include <string.h>

#include "profile/aggregate/heap.h"
#include "profile/aggregate/profile.h"
#include "test/fixtures/suite.h"

static bool is_about(double wanted, double got)
{
	return fabs(wanted - got) < 0.0005;
}

/* The figures are those of any table of Wilson's interval. */
START_TEST(wilson)
{
	static const struct {
		double part, whole, low, high;
	} rows[] = {
		{ 5, 10, 0.2366, 0.7634 },    { 0, 10, 0, 0.2775 },          { 10, 10, 0.7225, 1 },
		{ 433, 594, 0.6918, 0.7631 }, { 1, 1000, 0.00018, 0.00565 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct interval got = interval_of(rows[i].part, rows[i].whole, rows[i].whole);

		ck_assert(is_about(rows[i].low, got.low) && is_about(rows[i].high, got.high));
	}
}
END_TEST

START_TEST(digits_follow_the_precision)
{
	static const struct {
		double samples;
		const char *share, *range;
	} rows[] = {
		{ 6, "50%", "18-82%" },     { 300, "50%", "44-56%" },   { 100000, "50.0%", "" },
		{ 10000000, "50.00%", "" }, { INFINITY, "50.00%", "" },
	};
	char share[32], range[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct interval got = interval_of(3, 6, rows[i].samples);

		ck_assert_str_eq(interval_share(share, sizeof(share), 0.5, &got), rows[i].share);
		ck_assert_str_eq(interval_text(range, sizeof(range), &got), rows[i].range);
	}
}
END_TEST

/* The example of Newcombe's paper of 1998: 56 of 70 and 48 of 80. */
START_TEST(newcombe)
{
	struct interval now = interval_of(56, 70, 70), was = interval_of(48, 80, 80), change;
	char text[32];

	change = interval_of_change(56.0 / 70, &now, 48.0 / 80, &was);
	ck_assert(is_about(0.0524, change.low) && is_about(0.3339, change.high));
	ck_assert_str_eq(interval_change_text(text, sizeof(text), &change), "+5..+34");
	now = was = interval_of(1, 2, INFINITY);
	change = interval_of_change(0.5, &now, 0.5, &was);
	ck_assert_str_eq(interval_change_text(text, sizeof(text), &change), "");
}
END_TEST

START_TEST(nothing_has_an_interval_of_nothing)
{
	struct interval got = interval_of(0, 0, 0);

	ck_assert(got.low == 0 && got.high == 0);
}
END_TEST

/* Four samples that represent 100 allocations each, and one of an allocation so large that it is
 * always sampled. */
START_TEST(weighted_samples_count_by_what_chance_left)
{
	struct profile profile = PROFILE_INIT;
	struct sample sample = { .metric = METRIC_MALLOC,
				 .count = 100,
				 .total = 1000,
				 .count_variance = mem_scale_variance(100),
				 .total_variance = mem_scale_variance(100) * 10 * 10 };
	double effective;

	for (int i = 0; i < 4; i++)
		profile_add_sample(&profile, &sample);
	effective = profile_effective_of(&profile, METRIC_MALLOC, true);
	ck_assert(effective > 4 && effective < 4.1);
	sample = (struct sample){ .metric = METRIC_MALLOC, .count = 1, .total = 4000 };
	sample.count_variance = sample.total_variance = mem_scale_variance(1);
	profile_add_sample(&profile, &sample);
	effective = profile_effective_of(&profile, METRIC_MALLOC, true);
	ck_assert(effective > 16 && effective < 16.4);
	profile_free(&profile);
}
END_TEST

START_TEST(equal_samples_count_as_they_are)
{
	struct profile profile = PROFILE_INIT;

	profile_add(&profile, 0, 0, METRIC_CPU, 7, 70);
	profile_add(&profile, 0, 1, METRIC_CPU, 3, 30);
	ck_assert(is_about(10, profile_effective_of(&profile, METRIC_CPU, false)));
	ck_assert(is_about(10, profile_effective_of(&profile, METRIC_CPU, true)));
	ck_assert(isinf(profile_effective_of(&profile, METRIC_WALL, false)));
	profile_free(&profile);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("interval");

	tcase_add_test(tcase, wilson);
	tcase_add_test(tcase, digits_follow_the_precision);
	tcase_add_test(tcase, newcombe);
	tcase_add_test(tcase, nothing_has_an_interval_of_nothing);
	tcase_add_test(tcase, weighted_samples_count_by_what_chance_left);
	tcase_add_test(tcase, equal_samples_count_as_they_are);
	return suite_run(tcase);
}
