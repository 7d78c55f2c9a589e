/* upload/files/name.c: names of reports. */
#include "upload/files/name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

static const struct {
	uint64_t seconds;
	const char *text;
} times[] = {
	{ 0, "1970-01-01T00-00-00Z" },          { 951782400, "2000-02-29T00-00-00Z" },
	{ 1763691000, "2025-11-21T02-10-00Z" }, { 1709251199, "2024-02-29T23-59-59Z" },
	{ 1709251200, "2024-03-01T00-00-00Z" }, { 1735689599, "2024-12-31T23-59-59Z" },
	{ 4107542400, "2100-03-01T00-00-00Z" }, { 4107542399, "2100-02-28T23-59-59Z" },
};

START_TEST(writes_and_reads_time)
{
	char out[NAME_TIME_SIZE], file[NAME_FILE_SIZE];
	struct report report = { .executable = "x", .pid = 1 };
	int64_t seconds = -1;

	name_time(out, times[_i].seconds * 1000 + 999);
	ck_assert_str_eq(out, times[_i].text);
	report.end_ms = times[_i].seconds * 1000;
	name_file(file, &report, NAME_PROFILE, 0);
	ck_assert(name_parse(file, NAME_PROFILE, &seconds));
	ck_assert_int_eq(seconds, (int64_t)times[_i].seconds);
}
END_TEST

START_TEST(agrees_with_gmtime)
{
	char out[NAME_TIME_SIZE], expected[NAME_TIME_SIZE];

	for (time_t t = 1; t < 5000000000; t += 86400 * 3 + 4321) {
		struct tm tm;

		ck_assert_ptr_nonnull(gmtime_r(&t, &tm));
		strftime(expected, sizeof(expected), "%Y-%m-%dT%H-%M-%SZ", &tm);
		name_time(out, (uint64_t)t * 1000);
		ck_assert_str_eq(out, expected);
	}
}
END_TEST

START_TEST(names_a_file)
{
	struct report report = { .executable = "redis-server", .pid = 4711, .end_ms = 5000 };
	char out[NAME_FILE_SIZE];

	name_file(out, &report, NAME_PROFILE, 0);
	ck_assert_str_eq(out, "redis-server_4711_1970-01-01T00-00-05Z.jfr");
	name_file(out, &report, NAME_PROFILE, 12);
	ck_assert_str_eq(out, "redis-server_4711_1970-01-01T00-00-05Z-12.jfr");
}
END_TEST

START_TEST(cuts_a_long_executable)
{
	char executable[400], out[NAME_FILE_SIZE];
	struct report report = { .executable = executable, .pid = 4194304, .end_ms = 5000 };
	int64_t seconds;

	memset(executable, 'x', sizeof(executable) - 1);
	executable[sizeof(executable) - 1] = '\0';
	name_file(out, &report, NAME_PROFILE, 999);
	ck_assert_uint_lt(strlen(out), 256);
	ck_assert(name_parse(out, NAME_PROFILE, &seconds));
}
END_TEST

static int by_value(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;

	return (one > two) - (one < two);
}

/* A generator shared by two processes would give both the same. */
START_TEST(no_number_comes_twice)
{
	enum { PROCESSES = 8, EACH = 500 };
	uint32_t(*drawn)[EACH] = mmap(NULL, sizeof(uint32_t[PROCESSES][EACH]),
				      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t *all = (uint32_t *)drawn;
	size_t twice = 0, count = (size_t)PROCESSES * EACH;
	int status;

	ck_assert_ptr_ne(drawn, MAP_FAILED);
	for (int p = 0; p < PROCESSES; p++) {
		if (fork())
			continue;
		for (int i = 0; i < EACH; i++)
			drawn[p][i] = name_unique();
		_exit(0);
	}
	for (int p = 0; p < PROCESSES; p++)
		ck_assert(wait(&status) > 0 && status == 0);
	qsort(all, count, sizeof(uint32_t), by_value);
	for (size_t i = 1; i < count; i++)
		twice += all[i] == all[i - 1];
	ck_assert_uint_le(twice, 1); /* of 4,000 of 2^32, two may be equal, once in 500 runs */
}
END_TEST

/* A name of 255 bytes, the kernel's maximum; the cut would be inside a character. */
START_TEST(cuts_between_characters)
{
	char executable[NAME_FILE_SIZE] = "", out[NAME_FILE_SIZE], *end;
	struct report report = { .executable = executable, .pid = 4194304, .end_ms = 5000 };

	strcat(executable, _i & 1 ? "x" : "");
	while (strlen(executable) + 3 < sizeof(executable))
		strcat(executable, _i & 2 ? "\xe2\x82\xac" : "\xc3\xa9");
	name_file(out, &report, ".spool.json", 999);
	ck_assert_uint_lt(strlen(out), 256);
	end = strstr(out, "_4194304_1970");
	ck_assert_ptr_nonnull(end);
	ck_assert_uint_ge((size_t)(end - out), 190);
	*end = '\0';
	ck_assert_int_eq(strncmp(out, executable, strlen(out)), 0);
	ck_assert_uint_eq((strlen(out) - (_i & 1)) % (_i & 2 ? 3 : 2), 0);
}
END_TEST

static const struct {
	const char *executable, *name;
} strays[] = {
	{ "../../etc/logrotate.d/x", "_._.._etc_logrotate.d_x_1_1970-01-01T00-00-05Z.jfr" },
	{ ".hidden", "_hidden_1_1970-01-01T00-00-05Z.jfr" },
	{ "..", "_._1_1970-01-01T00-00-05Z.jfr" },
	{ "a\nb", "a_b_1_1970-01-01T00-00-05Z.jfr" },
};

START_TEST(leads_nowhere_else)
{
	struct report report = { .executable = strays[_i].executable, .pid = 1, .end_ms = 5000 };
	char out[NAME_FILE_SIZE];

	name_file(out, &report, NAME_PROFILE, 0);
	ck_assert_str_eq(out, strays[_i].name);
}
END_TEST

static const struct {
	const char *name;
	bool ours;
} names[] = {
	{ "a_1_2026-11-21T02-10-00Z.jfr", true },
	{ "a_b-c d_1_2026-11-21T02-10-00Z-3.jfr", true },
	{ "_1_2026-11-21T02-10-00Z.jfr", false },
	{ "a__2026-11-21T02-10-00Z.jfr", false },
	{ "a_1_2026-11-21T02-10-00Z-.jfr", false },
	{ "a_1_2026-11-21T02-10-00Z-x.jfr", false },
	{ "a_1_2026-11-21T02-10-00.jfr", false },
	{ "a_1_2026-11-21T02:10:00Z.jfr", false },
	{ "a_1_2026-11-21T02-10-00Z.jfr.gz", false },
	{ "a_1_2026-11-21T02-10-00Z.zip", false },
	{ "a_x_2026-11-21T02-10-00Z.jfr", false },
	{ "a_1_2026-11-21T02-10-00Z.spool.jfr", false }, /* of another process */
	{ "a_1_2026-11-21T02-10-00Z-3.spool.jfr", false },
	{ "2026-11-21T02-10-00Z.jfr", false },
	{ "recording.jfr", false },
	{ "5.jfr", false },
	{ "-5.jfr", false },
	{ ".jfr", false },
	{ "", false },
};

START_TEST(knows_its_own)
{
	int64_t seconds;

	ck_assert_msg(name_parse(names[_i].name, NAME_PROFILE, &seconds) == names[_i].ours, "%s",
		      names[_i].name);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("name");

	tcase_add_loop_test(tcase, writes_and_reads_time, 0, sizeof(times) / sizeof(times[0]));
	tcase_add_test(tcase, agrees_with_gmtime);
	tcase_add_test(tcase, names_a_file);
	tcase_add_test(tcase, cuts_a_long_executable);
	tcase_add_test(tcase, no_number_comes_twice);
	tcase_add_loop_test(tcase, cuts_between_characters, 0, 4);
	tcase_add_loop_test(tcase, leads_nowhere_else, 0, sizeof(strays) / sizeof(strays[0]));
	tcase_add_loop_test(tcase, knows_its_own, 0, sizeof(names) / sizeof(names[0]));
	return suite_run(tcase);
}
