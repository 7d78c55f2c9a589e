/* engine/runtime/frame_table.c: what stands for a frame is never another's, and says what it was told. */
#include "engine/runtime/frame_table.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "test/fixtures/suite.h"

#define THREADS 4
#define MANY    300000u /* more than there is room for */

static uint32_t function(uint64_t print, const char *name, const char *file)
{
	bool fresh;
	uint32_t n = frame_table_function(print, &fresh);

	if (fresh)
		frame_table_describe(n, JFR_FRAME_JAVASCRIPT, name, file);
	return n;
}

static uintptr_t place(uint32_t n, uint32_t offset, uint32_t line)
{
	bool fresh;
	uintptr_t frame = frame_table_place(n, offset, &fresh);

	if (fresh)
		frame_table_line(frame, line);
	return frame;
}

START_TEST(nothing_before_open)
{
	struct script_frame frame;
	bool fresh;

	ck_assert_uint_eq(frame_table_function(1, &fresh), 0);
	ck_assert(!fresh);
	ck_assert_uint_eq(frame_table_place(1, 1, &fresh), 0);
	ck_assert(!frame_table_find(0, &frame));
	ck_assert(!frame_table_find((uintptr_t)&frame, &frame));
	frame_table_describe(1, JFR_FRAME_PYTHON, "a", "b");
	frame_table_line(1, 2);
}
END_TEST

START_TEST(as_told)
{
	uint32_t f = function(11, "Shop.sell", "/srv/shop.py"), g;
	struct script_frame frame;
	uintptr_t first, second;

	ck_assert_uint_ne(f, 0);
	ck_assert_uint_eq(function(11, "other", "other"), f);
	first = place(f, 0, 7);
	second = place(f, UINT32_MAX, 8);
	ck_assert_uint_ne(first, second);
	ck_assert_uint_eq(place(f, 0, 9), first);
	ck_assert(frame_table_find(first, &frame));
	ck_assert_str_eq(frame.name, "Shop.sell");
	ck_assert_str_eq(frame.file, "/srv/shop.py");
	ck_assert_uint_eq(frame.line, 7);
	ck_assert(frame_table_find(second, &frame));
	ck_assert_uint_eq(frame.line, 8);

	/* Equal strings are one, and another function's are others. */
	g = function(12, "Shop.sell", "/srv/cart.py");
	ck_assert_uint_ne(f, g);
	ck_assert(frame_table_find(place(g, 0, 1), &frame));
	ck_assert_str_eq(frame.file, "/srv/cart.py");
	ck_assert_uint_eq(place(g, 0, 1) >> 48, 0); /* as an address of code */

	/* Not inside of an entry, nor what is none. */
	ck_assert(!frame_table_find(first + 1, &frame));
	ck_assert(!frame_table_find((uintptr_t)&frame, &frame));
}
END_TEST

START_TEST(not_described)
{
	struct script_frame frame;
	bool fresh;
	uint32_t f = frame_table_function(13, &fresh);

	ck_assert(fresh);
	ck_assert(frame_table_find(frame_table_place(f, 3, &fresh), &frame));
	ck_assert_str_eq(frame.name, "[unknown]");
	ck_assert_str_eq(frame.file, "");
	ck_assert_uint_eq(frame.line, 0);
}
END_TEST

/* Every thread tells each name, and the line that goes with it. */
static void *tell(void *unused)
{
	char name[32];

	for (uint32_t i = 1; i <= 5000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		place(function(i * UINT64_C(0x9e3779b97f4a7c15), name, "file"), i, i);
	}
	return unused;
}

START_TEST(told_by_many)
{
	pthread_t threads[THREADS];
	struct script_frame frame;
	char name[32];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, tell, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (uint32_t i = 1; i <= 5000; i++) {
		uint32_t f = function(i * UINT64_C(0x9e3779b97f4a7c15), "new", "new");

		snprintf(name, sizeof(name), "f%u", i);
		ck_assert(frame_table_find(place(f, i, 0), &frame));
		ck_assert_str_eq(frame.name, name);
		ck_assert_uint_eq(frame.line, i);
	}
}
END_TEST

START_TEST(full)
{
	uint32_t f = function(21, "early", "file"), none = 0, wrong = 0;
	uintptr_t early = place(f, 1, 5), last = 0;
	struct script_frame frame;
	char name[32];

	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t g;

		snprintf(name, sizeof(name), "f%u", i);
		g = function(0x1000000000u + i, name, "file");
		none += !g;
		last = place(g, i, i);
		ck_assert(frame_table_find(last, &frame));
		/* When names are what there is no room for, it has none. */
		wrong += g && strcmp(frame.name, name) && strcmp(frame.name, "[unknown]") &&
			 strcmp(frame.name, "[frame table full]");
	}
	ck_assert_uint_gt(none, 0);
	ck_assert_uint_eq(wrong, 0);
	ck_assert(frame_table_find(last, &frame));
	ck_assert_str_eq(frame.name, "[frame table full]");
	ck_assert(frame_table_find(early, &frame));
	ck_assert_str_eq(frame.name, "early");
	ck_assert_uint_eq(frame.line, 5);
}
END_TEST

static void open_table(void)
{
	ck_assert_int_eq(frame_table_open(), 0);
	ck_assert_int_eq(frame_table_open(), 0);
}

int main(void)
{
	Suite *suite = suite_create("frame_table");
	TCase *closed = tcase_create("closed"), *open = tcase_create("open");

	tcase_add_test(closed, nothing_before_open);
	tcase_add_checked_fixture(open, open_table, NULL);
	tcase_add_test(open, as_told);
	tcase_add_test(open, not_described);
	tcase_add_test(open, told_by_many);
	tcase_add_test(open, full);
	suite_add_tcase(suite, closed);
	suite_add_tcase(suite, open);
	return suite_run_all(suite);
}
