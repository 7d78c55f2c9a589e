/* engine/collect/confinement: the number of seccomp filters in /proc/PID/status. */
#include "engine/collect/confinement.h"

#include "test/fixtures/suite.h"

static const struct {
	const char *text;
	unsigned filters;
} texts[] = {
	{ "", 0 },
	{ "Name:\tx\nThreads:\t1\n", 0 },
	{ "Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n", 0 },
	{ "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t3\n", 3 },
	{ "Name:\tx\nSeccomp:\t2\nSpeculation:\tx\n", 2 },
	{ "Name:\tSeccomp:\t2\n", 0 },
};

START_TEST(counts_filters)
{
	ck_assert_uint_eq(confinement_parse(texts[_i].text), texts[_i].filters);
}
END_TEST

START_TEST(this_process_adds_none)
{
	ck_assert(!confinement_has_grown());
	ck_assert(!confinement_has_grown());
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, counts_filters, 0, sizeof(texts) / sizeof(*texts));
	tcase_add_test(tests, this_process_adds_none);
	return suite_run(tests);
}
