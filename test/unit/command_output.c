/* asyncprof/command_output.c: counts and version in async-profiler's output. */
#include <string.h>

#include "asyncprof/command_output.h"
#include "test/fixtures/suite.h"

START_TEST(counted)
{
	struct engine_counts counts = { .taken = 1, .lost = 2, .memory_kb = 3 };

	command_output_parse_counts("samples_skipped_total 4\n"
				    "samples_total_of_others 9\n"
				    "mem_calltracestorage_kb 20\n"
				    "mem_flightrecorder_kb 300\n"
				    "samples_total 18446744073709551615",
				    &counts);
	ck_assert_uint_eq(counts.taken, UINT64_MAX);
	ck_assert_uint_eq(counts.lost, 4);
	ck_assert_uint_eq(counts.memory_kb, 320);

	command_output_parse_counts("", &counts);
	ck_assert_uint_eq(counts.taken + counts.lost + counts.memory_kb, 0);
}
END_TEST

START_TEST(version_alone)
{
	static char large[20000];
	char text[8];

	command_output_parse_version("4.5\nBuilt on a Friday", text, sizeof(text));
	ck_assert_str_eq(text, "4.5");
	command_output_parse_version("4.5-20261122-nightly", text, sizeof(text));
	ck_assert_str_eq(text, "4.5-202");
	memset(large, '4', sizeof(large) - 1);
	command_output_parse_version(large, text, sizeof(text));
	ck_assert_str_eq(text, "4444444");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("answers");

	tcase_add_test(tcase, counted);
	tcase_add_test(tcase, version_alone);
	return suite_run(tcase);
}
