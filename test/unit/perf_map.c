/* engine/symbols/perf_map: lists in the form of node and python, growing, replaced, and of another user. */
#include "engine/symbols/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/process/perf_list.h"
#include "test/fixtures/suite.h"

static char directory[] = "/tmp/asprof-perf-map-XXXXXX";
static char path[64];
static struct perf_map map;
static struct string_pool strings;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/list", directory);
}

static void teardown(void)
{
	unlink(path);
	rmdir(directory);
	string_pool_free(&strings);
}

static void append(const char *text)
{
	FILE *file = fopen(path, "a");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void resolve(struct symbol_entry *entries, size_t count)
{
	struct symbol_entry *sorted[16];

	for (size_t i = 0; i < count; i++)
		sorted[i] = &entries[i];
	ck_assert_int_eq(perf_map_resolve(&map, path, sorted, count, &strings), 0);
}

START_TEST(lines_of_every_kind)
{
	struct symbol_entry entries[] = {
		{ .address = 0xfff },          { .address = 0x1000 },
		{ .address = 0x101f },         { .address = 0x1020 },
		{ .address = 0x2000 },         { .address = 0x3000 },
		{ .address = 0x7f1234567890 }, { .address = 0xffffffffffffffff },
	};

	append("1000 20 JS:*add file:///a b.js:1:2\n"
	       "0x2000 0x10 py::run:/x.py\n"
	       "not a line\n"
	       "\n"
	       "3000 10\n"
	       "3000 10 \n"
	       "3000zz 10 bad\n"
	       "11111111111111111 10 too long\n"
	       "7F1234567000 1000 upper\n"
	       "ffffffffffffff00 1ff reaches over the end\n");
	resolve(entries, 8);
	ck_assert_ptr_null(entries[0].name);
	ck_assert_str_eq(entries[1].name, "JS:*add file:///a b.js:1:2");
	ck_assert_ptr_eq(entries[2].name, entries[1].name);
	ck_assert_uint_eq(entries[2].start, 0x1000);
	ck_assert_ptr_null(entries[3].name);
	ck_assert_str_eq(entries[4].name, "py::run:/x.py");
	ck_assert_ptr_null(entries[5].name);
	ck_assert_str_eq(entries[6].name, "upper");
	ck_assert_str_eq(entries[7].name, "reaches over the end");
}
END_TEST

START_TEST(only_what_was_added_is_read)
{
	struct symbol_entry entries[] = { { .address = 0x1000 }, { .address = 0x2000 } };
	struct symbol_entry late = { .address = 0x1008 };

	append("1000 10 one\n2000 10 half a li");
	resolve(entries, 2);
	ck_assert_str_eq(entries[0].name, "one");
	ck_assert_ptr_null(entries[1].name);
	ck_assert_uint_eq(entries[0].scanned, 12);

	append("ne\n1000 10 moved here\n");
	resolve(entries, 2);
	ck_assert_str_eq(entries[0].name, "moved here");
	ck_assert_str_eq(entries[1].name, "half a line");

	/* An entry that is new sees the whole file, and for it too the last line counts. */
	resolve(&late, 1);
	ck_assert_str_eq(late.name, "moved here");
}
END_TEST

START_TEST(another_file_begins_anew)
{
	struct symbol_entry entry = { .address = 0x1000 };

	append("1000 10 of the first file, which is a long line\n");
	resolve(&entry, 1);
	ck_assert_int_eq(truncate(path, 0), 0);
	append("1000 10 of the second\n");
	resolve(&entry, 1);
	ck_assert_str_eq(entry.name, "of the second");
}
END_TEST

START_TEST(long_lists_and_long_lines)
{
	struct symbol_entry entries[] = { { .address = 0x100000 + 4999 * 16 + 3 },
					  { .address = 0x900000 } };
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < 5000; i++)
		fprintf(file, "%x 10 function number %d\n", 0x100000 + i * 16, i);
	for (int i = 0; i < 100000; i++)
		fputc('x', file);
	fprintf(file, "\n900000 10 behind\n");
	ck_assert_int_eq(fclose(file), 0);
	resolve(entries, 2);
	ck_assert_str_eq(entries[0].name, "function number 4999");
	ck_assert_str_eq(entries[1].name, "behind");
}
END_TEST

/* Only the end of a very long list is read, which starts within a line. */
START_TEST(half_a_line_says_nothing)
{
	static const char line[] = "7f0000002000 10 wrong\n3000 10 right\n";
	struct symbol_entry entries[] = { { .address = 0x2000 }, { .address = 0x3000 } };

	append(line);
	ck_assert_int_eq(truncate(path, (64 << 20) + 6), 0); /* up to "7f0000" is skipped */
	resolve(entries, 2);
	ck_assert_ptr_null(entries[0].name);
	ck_assert_str_eq(entries[1].name, "right");
}
END_TEST

START_TEST(not_ours_is_refused)
{
	struct symbol_entry entry = { .address = 0x1000 }, *entries = &entry;
	char other[80];

	ck_assert_int_eq(perf_map_resolve(&map, path, &entries, 1, &strings), -ENOENT);
	snprintf(other, sizeof(other), "%s/other", directory);
	append("1000 10 name\n");
	ck_assert_int_eq(rename(path, other), 0);
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert_int_eq(perf_map_resolve(&map, path, &entries, 1, &strings), -ELOOP);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(perf_map_resolve(&map, path, &entries, 1, &strings), -EPERM);
	unlink(path);
	ck_assert_int_eq(rename(other, path), 0);
	if (!chown(path, 12345, 12345))
		ck_assert_int_eq(perf_map_resolve(&map, path, &entries, 1, &strings), -EPERM);
	ck_assert_ptr_null(entry.name);
}
END_TEST

/* A process with the same number, which has ended, wrote it. */
START_TEST(of_an_earlier_process_is_refused)
{
	struct symbol_entry entry = { .address = 0x1000 }, *entries = &entry;
	struct timespec times[2];

	append("1000 10 name\n");
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= 3600;
	times[1] = times[0];
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	ck_assert_int_eq(perf_map_resolve(&map, path, &entries, 1, &strings), -ESTALE);
	ck_assert_ptr_null(entry.name);
	append("1000 10 name\n");
	ck_assert_int_eq(perf_map_resolve(&map, path, &entries, 1, &strings), 0);
	ck_assert_str_eq(entry.name, "name");
}
END_TEST

START_TEST(path_has_the_pid)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "/tmp/perf-%d.map", (int)getpid());
	perf_list_path(path, sizeof(path));
	ck_assert_str_eq(path, expected);
	snprintf(path, sizeof(path), "%s/list", directory);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, lines_of_every_kind);
	tcase_add_test(tcase, only_what_was_added_is_read);
	tcase_add_test(tcase, another_file_begins_anew);
	tcase_add_test(tcase, long_lists_and_long_lines);
	tcase_add_test(tcase, half_a_line_says_nothing);
	tcase_add_test(tcase, not_ours_is_refused);
	tcase_add_test(tcase, of_an_earlier_process_is_refused);
	tcase_add_test(tcase, path_has_the_pid);
	return suite_run(tcase);
}
