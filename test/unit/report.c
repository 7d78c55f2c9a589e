/* The tags of a report, and its parts as one file. */
#include "core/agent/report.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "test/fixtures/suite.h"

static char seen[256];

static int note(void *arg, const char *key, const char *value)
{
	size_t length = strlen(seen);

	snprintf(seen + length, sizeof(seen) - length, "[%s|%s]", key, value);
	return !strcmp(key, arg) ? -E2BIG : 0;
}

static const struct {
	const char *tags, *seen;
} tags[] = {
	{ NULL, "" },
	{ "", "" },
	{ "a=b", "[a|b]" },
	{ "a=b=c,d=", "[a|b=c][d|]" },
	{ "no equals,a=b", "[a|b]" },
};

START_TEST(each_tag)
{
	*seen = '\0';
	ck_assert_int_eq(report_each_tag(tags[_i].tags, note, ""), 0);
	ck_assert_str_eq(seen, tags[_i].seen);
}
END_TEST

START_TEST(error_ends)
{
	*seen = '\0';
	ck_assert_int_eq(report_each_tag("a=1,b=2,c=3", note, "b"), -E2BIG);
	ck_assert_str_eq(seen, "[a|1][b|2]");
}
END_TEST

START_TEST(parts)
{
	int first = memfd_create("first", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	struct report report = {
		.parts = { { .fd = first, .offset = 2, .length = 3 },
			   { .fd = first, .length = 1 } },
		.part_count = 2,
	};
	char text[5] = "";

	ck_assert_int_eq(fd_write(first, "abcdef", 6, 0), 0);
	ck_assert_uint_eq(report_length(&report), 4);
	ck_assert_int_eq(report_write(&report, out), 0);
	ck_assert_int_eq(fd_read(out, text, 4, 0), 0);
	ck_assert_str_eq(text, "cdea");
	report.parts[1].offset = 6; /* which ends there */
	ck_assert_int_eq(report_write(&report, out), -ENODATA);
	close(first);
	close(out);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("report");

	tcase_add_loop_test(tcase, each_tag, 0, sizeof(tags) / sizeof(tags[0]));
	tcase_add_test(tcase, error_ends);
	tcase_add_test(tcase, parts);
	return suite_run(tcase);
}
