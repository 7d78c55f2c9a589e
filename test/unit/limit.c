/* upload/limit.c: a directory stays within its bounds, the oldest go first, and nothing else. */
#include "upload/limit.h"

#include <stdio.h>

#include "test/fixtures/folder.h"
#include "test/fixtures/suite.h"
#include "upload/name.h"
#include "upload/oldest.h"

#define NEWEST 1500000000

static char names[200][NAME_FILE_SIZE];

/* COUNT profiles, the last one of NEWEST and each a second older than the next. */
static void fill(size_t count, size_t bytes)
{
	ck_assert_uint_le(count, sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < count; i++) {
		struct report report = { .end_ms = (NEWEST - (uint64_t)(count - 1 - i)) * 1000,
					 .executable = "p",
					 .pid = 1 };

		name_file(names[i], &report, 0);
		folder_put(names[i], bytes, 0);
	}
}

/* The profiles from FIRST on are there, and none before. */
static void expect_from(size_t first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(folder_has(names[i]) == (i >= first), "%s, first %zu", names[i],
			      first);
}

static const struct {
	uint64_t max, target;
	int64_t oldest;
	size_t first; /* that stays, of ten with 100 bytes each */
	uint64_t total;
} bounds[] = {
	{ 1000, 1000, INT64_MIN, 0, 1000 },
	{ 999, 999, INT64_MIN, 1, 900 },
	{ 999, 500, INT64_MIN, 5, 500 },
	{ 1000, 500, INT64_MIN, 0, 1000 }, /* within the limit, so the target does not count */
	{ 550, 550, INT64_MIN, 5, 500 },
	{ 0, 0, INT64_MIN, 9, 100 }, /* the last one is to be kept */
	{ UINT64_MAX, UINT64_MAX, NEWEST - 3, 6, 400 },
	{ UINT64_MAX, UINT64_MAX, NEWEST + 1, 9, 100 },
	{ 300, 300, NEWEST - 5, 7, 300 },
	{ 800, 800, NEWEST - 3, 6, 400 },
};

START_TEST(oldest_go_first)
{
	uint64_t total;

	folder_make();
	fill(10, 100);
	ck_assert_int_eq(limit_directory(folder_fd, bounds[_i].max, bounds[_i].target,
					 bounds[_i].oldest, names[9], &total),
			 0);
	ck_assert_uint_eq(total, bounds[_i].total);
	expect_from(bounds[_i].first, 10);
	folder_remove();
}
END_TEST

/* More than one look remembers. */
START_TEST(many_go)
{
	uint64_t total;

	_Static_assert(190 > 2 * OLDEST_MAX, "one look would do");
	folder_make();
	fill(200, 10);
	ck_assert_int_eq(limit_directory(folder_fd, 100, 100, INT64_MIN, "", &total), 0);
	ck_assert_uint_eq(total, 100);
	expect_from(190, 200);
	folder_remove();
}
END_TEST

START_TEST(what_is_not_ours_stays)
{
	uint64_t total;

	folder_make();
	fill(1, 100);
	folder_put("notes.jfr", 1000, 1000000);
	folder_put("p_1_2017-07-14T02-40-00Z.zip", 1000, 1000000);
	ck_assert_int_eq(mkdirat(folder_fd, "p_1_2017-07-14T02-39-00Z.jfr", 0700), 0);
	ck_assert_int_eq(symlinkat("notes.jfr", folder_fd, "p_1_2017-07-14T02-38-00Z.jfr"), 0);
	ck_assert_int_eq(limit_directory(folder_fd, 0, 0, INT64_MAX, "", &total), 0);
	ck_assert_uint_eq(total, 0);
	ck_assert(!folder_has(names[0]));
	ck_assert(folder_has("notes.jfr"));
	ck_assert(folder_has("p_1_2017-07-14T02-40-00Z.zip"));
	ck_assert(folder_has("p_1_2017-07-14T02-39-00Z.jfr"));
	ck_assert(folder_has("p_1_2017-07-14T02-38-00Z.jfr"));
	folder_remove();
}
END_TEST

START_TEST(says_what_it_cannot_look_into)
{
	uint64_t total = 17;

	ck_assert_int_lt(limit_directory(-1, 0, 0, INT64_MIN, "", &total), 0);
	ck_assert_uint_eq(total, 17);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("limit");

	tcase_add_loop_test(tcase, oldest_go_first, 0, sizeof(bounds) / sizeof(bounds[0]));
	tcase_add_test(tcase, many_go);
	tcase_add_test(tcase, what_is_not_ours_stays);
	tcase_add_test(tcase, says_what_it_cannot_look_into);
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
