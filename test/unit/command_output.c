/* async-profiler's words for what it has counted, and for its version. */
#include <string.h>

#include "asyncprof/command_output.h"
#include "test/fixtures/suite.h"

/* What it prints for any command; NULL: it fails. */
static const char *printed;

/* In pieces, as it does. */
static asprof_error_t execute(const char *command, asprof_writer_t output)
{
	ck_assert(!strcmp(command, "metrics") || !strcmp(command, "version"));
	if (!printed)
		return "no such command";
	for (size_t i = 0, length = strlen(printed); i < length; i += 7)
		output(printed + i, length - i < 7 ? length - i : 7);
	return NULL;
}

static const struct engine engine = { .name = "async-profiler", .execute = execute };

START_TEST(counted)
{
	struct engine_counts counts = { .taken = 1, .lost = 2, .memory_kb = 3 };

	printed = "samples_skipped_total 4\n"
		  "samples_total_of_others 9\n"
		  "mem_calltracestorage_kb 20\n"
		  "mem_flightrecorder_kb 300\n"
		  "samples_total 18446744073709551615";
	ck_assert(command_output_parse_counts(&engine, &counts));
	ck_assert_uint_eq(counts.taken, UINT64_MAX);
	ck_assert_uint_eq(counts.lost, 4);
	ck_assert_uint_eq(counts.memory_kb, 320);

	printed = "";
	ck_assert(command_output_parse_counts(&engine, &counts));
	ck_assert_uint_eq(counts.taken + counts.lost + counts.memory_kb, 0);
}
END_TEST

START_TEST(older)
{
	struct engine_counts counts = { .taken = 1, .lost = 2, .memory_kb = 3 };
	char version[8] = "before";

	printed = NULL;
	ck_assert(!command_output_parse_counts(&engine, &counts));
	ck_assert_uint_eq(counts.taken, 1);
	answers_version(&engine, version, sizeof(version));
	ck_assert_str_eq(version, "before");
}
END_TEST

START_TEST(version_alone)
{
	static char large[20000];
	char text[8];

	printed = "4.5\nBuilt on a Friday";
	answers_version(&engine, text, sizeof(text));
	ck_assert_str_eq(text, "4.5");
	printed = "4.5-20261122-nightly";
	answers_version(&engine, text, sizeof(text));
	ck_assert_str_eq(text, "4.5-202");
	memset(large, '4', sizeof(large) - 1);
	printed = large;
	answers_version(&engine, text, sizeof(text));
	ck_assert_str_eq(text, "4444444");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("answers");

	tcase_add_test(tcase, counted);
	tcase_add_test(tcase, older);
	tcase_add_test(tcase, version_alone);
	return suite_run(tcase);
}
