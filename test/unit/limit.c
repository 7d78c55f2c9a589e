/* upload/files/limit.c: a directory stays within its limits; the oldest profiles are removed first,
 * and no other files. */
#include "upload/files/limit.h"

#include <stdio.h>
#include <unistd.h>

#include "test/fixtures/folder.h"
#include "test/fixtures/suite.h"
#include "upload/files/name.h"
#include "upload/files/oldest.h"

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

		name_file(names[i], &report, NAME_PROFILE, 0);
		folder_put(names[i], bytes, 0);
	}
}

/* The profiles from FIRST on exist, and none before. */
static void expect_from(size_t first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(folder_has(names[i]) == (i >= first), "%s, first %zu", names[i],
			      first);
}

#define B FOLDER_BLOCK

static const struct {
	uint64_t max, target;
	int64_t oldest;
	size_t first; /* which stays, of ten with a block each */
	uint64_t total;
} bounds[] = {
	{ 10 * B, 10 * B, INT64_MIN, 0, 10 * B },
	{ 10 * B - 1, 10 * B - 1, INT64_MIN, 1, 9 * B },
	{ 10 * B - 1, 5 * B, INT64_MIN, 5, 5 * B },
	{ 10 * B, 5 * B, INT64_MIN, 0, 10 * B }, /* within the limit: the target does not count */
	{ 5 * B + 9, 5 * B + 9, INT64_MIN, 5, 5 * B },
	{ 0, 0, INT64_MIN, 10, 0 },
	{ UINT64_MAX, UINT64_MAX, NEWEST - 3, 6, 4 * B },
	{ UINT64_MAX, UINT64_MAX, NEWEST + 1, 10, 0 },
	{ 3 * B, 3 * B, NEWEST - 5, 7, 3 * B },
	{ 8 * B, 8 * B, NEWEST - 3, 6, 4 * B },
};

START_TEST(oldest_go_first)
{
	uint64_t total;

	folder_make();
	fill(10, B);
	ck_assert_int_eq(limit_directory(folder_fd, bounds[_i].max, bounds[_i].target,
					 bounds[_i].oldest, &total),
			 0);
	ck_assert_uint_eq(total, bounds[_i].total);
	expect_from(bounds[_i].first, 10);
	folder_remove();
}
END_TEST

/* More than one scan remembers. */
START_TEST(many_go)
{
	uint64_t total;

	_Static_assert(190 > 2 * OLDEST_MAX, "one look would do");
	folder_make();
	fill(200, B);
	ck_assert_int_eq(limit_directory(folder_fd, 10 * B, 10 * B, INT64_MIN, &total), 0);
	ck_assert_uint_eq(total, 10 * B);
	expect_from(190, 200);
	folder_remove();
}
END_TEST

START_TEST(what_is_not_ours_stays)
{
	uint64_t total;

	folder_make();
	fill(1, B);
	folder_put("notes.jfr", 1000, 1000000);
	folder_put("p_1_2017-07-14T02-40-00Z.zip", 1000, 1000000);
	ck_assert_int_eq(mkdirat(folder_fd, "p_1_2017-07-14T02-39-00Z.jfr", 0700), 0);
	ck_assert_int_eq(symlinkat("notes.jfr", folder_fd, "p_1_2017-07-14T02-38-00Z.jfr"), 0);
	ck_assert_int_eq(limit_directory(folder_fd, 0, 0, INT64_MAX, &total), 0);
	ck_assert_uint_eq(total, 0);
	ck_assert(!folder_has(names[0]));
	ck_assert(folder_has("notes.jfr"));
	ck_assert(folder_has("p_1_2017-07-14T02-40-00Z.zip"));
	ck_assert(folder_has("p_1_2017-07-14T02-39-00Z.jfr"));
	ck_assert(folder_has("p_1_2017-07-14T02-38-00Z.jfr"));
	folder_remove();
}
END_TEST

/* After a wrong clock: a profile with a date in the future is not younger than later ones. */
START_TEST(names_of_the_future_go_first)
{
	uint64_t total;

	folder_make();
	fill(3, B);
	folder_put("p_1_2999-01-01T00-00-00Z.jfr", B, -1000000000);
	/* Copied or touched since: the date is in the name. For a wrong name it is the file's. */
	folder_put("p_1_1999-01-01T00-00-00Z.jfr", B, 0);
	folder_put("p_1_2999-01-02T00-00-00Z.jfr", B, time(NULL) - 1000);
	ck_assert_int_eq(limit_directory(folder_fd, 5 * B, 5 * B, INT64_MIN, &total), 0);
	ck_assert(!folder_has("p_1_2999-01-01T00-00-00Z.jfr"));
	ck_assert_int_eq(limit_directory(folder_fd, 4 * B, 4 * B, INT64_MIN, &total), 0);
	ck_assert(!folder_has("p_1_2999-01-02T00-00-00Z.jfr"));
	ck_assert_int_eq(limit_directory(folder_fd, 3 * B, 3 * B, INT64_MIN, &total), 0);
	ck_assert(!folder_has("p_1_1999-01-01T00-00-00Z.jfr"));
	expect_from(0, 3);
	/* Its age is unknown: it is not removed for its age. */
	folder_put("p_1_2999-01-01T00-00-00Z.jfr", B, -1000000000);
	ck_assert_int_eq(limit_directory(folder_fd, 4 * B, 4 * B, NEWEST, &total), 0);
	ck_assert(folder_has("p_1_2999-01-01T00-00-00Z.jfr"));
	expect_from(2, 3);
	folder_remove();
}
END_TEST

/* Neither a file's claim of 2 TiB nor a file of another user removes the user's own. */
START_TEST(what_takes_no_room_does_not_count)
{
	static const char sparse[] = "p_1_2017-07-14T02-30-00Z.jfr",
			  theirs[] = "p_1_2017-07-14T02-31-00Z.jfr";
	uint64_t total;

	folder_make();
	fill(3, B);
	folder_put(sparse, 0, 0);
	ck_assert_int_eq(truncate(folder_path(sparse), (off_t)2 << 40), 0);
	if (!geteuid()) {
		folder_put(theirs, 10 * B, 0);
		ck_assert_int_eq(fchownat(folder_fd, theirs, 12345, 12345, 0), 0);
	}
	ck_assert_int_eq(limit_directory(folder_fd, 3 * B, 3 * B, INT64_MIN, &total), 0);
	ck_assert_uint_eq(total, 3 * B);
	expect_from(0, 3);
	ck_assert_int_eq(limit_directory(folder_fd, 0, 0, INT64_MAX, &total), 0);
	ck_assert(!geteuid() == folder_has(theirs));
	folder_remove();
}
END_TEST

START_TEST(says_what_it_cannot_look_into)
{
	uint64_t total = 17;

	ck_assert_int_lt(limit_directory(-1, 0, 0, INT64_MIN, &total), 0);
	ck_assert_uint_eq(total, 17);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("limit");

	tcase_add_loop_test(tcase, oldest_go_first, 0, sizeof(bounds) / sizeof(bounds[0]));
	tcase_add_test(tcase, many_go);
	tcase_add_test(tcase, what_is_not_ours_stays);
	tcase_add_test(tcase, names_of_the_future_go_first);
	tcase_add_test(tcase, what_takes_no_room_does_not_count);
	tcase_add_test(tcase, says_what_it_cannot_look_into);
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
