/* engine/runtime/frame_table.c: a frame never stands for another one, and has the description that was stored. */
#include "engine/runtime/frame_table.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory/account.h"
#include "test/fixtures/suite.h"

#define THREADS 4
#define MANY    300000u /* more than the table holds */
#define ENOUGH  17000u  /* half of it */
#define TURNS   20

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

	/* Equal strings are stored once, and another function has others. */
	g = function(12, "Shop.sell", "/srv/cart.py");
	ck_assert_uint_ne(f, g);
	ck_assert(frame_table_find(place(g, 0, 1), &frame));
	ck_assert_str_eq(frame.file, "/srv/cart.py");
	ck_assert_uint_eq(place(g, 0, 1) >> 48, 0); /* as an address of code */

	/* Not within an entry, and not a pointer outside the table. */
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

/* Every thread stores each name, and its line. */
static void *store_names(void *unused)
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
		ck_assert_int_eq(pthread_create(&threads[i], NULL, store_names, NULL), 0);
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

/* Another thread had claimed the function and was about to describe it when the process forked. */
START_TEST(described_in_a_forked_child)
{
	struct script_frame frame;
	bool fresh;
	int status;
	pid_t pid;

	frame_table_place(frame_table_function(51, &fresh), 1, &fresh);
	pid = fork();
	if (!pid)
		_exit(frame_table_find(place(function(51, "late", "file"), 1, 5), &frame) &&
				      !strcmp(frame.name, "late") && frame.line == 5
			      ? 0
			      : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
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
		/* If there is no space for names, it has none. */
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

/* Fill the tables until a renewal is due, with functions from FIRST on. Returns the frame of the last one. */
static uintptr_t fill(uint32_t first)
{
	uintptr_t last = 0;
	char name[32];

	for (uint32_t i = first; i < first + ENOUGH; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		last = place(function(0x2000000000u + i, name, "file"), i, i);
	}
	return last;
}

static void is_called(uintptr_t pc, const char *name, uint32_t line)
{
	struct script_frame frame;

	ck_assert(frame_table_find(pc, &frame));
	ck_assert_str_eq(frame.name, name);
	ck_assert_uint_eq(frame.line, line);
}

/* Memory that was written counts as used, at random positions by pages; a dropped table has none. */
START_TEST(unused_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t empty, used;
	char name[16];

	memory_account_open(0, page);
	empty = frame_table_unused_bytes();
	ck_assert_uint_gt(empty, 4u << 20);
	place(function(1, "a", "b"), 1, 1);
	used = empty - frame_table_unused_bytes();
	ck_assert_uint_ge(used, 3 * page);
	ck_assert_uint_le(used, 5 * page);
	for (unsigned i = 2; i < ENOUGH; i++) {
		snprintf(name, sizeof(name), "%u", i);
		place(function(i, name, "b"), 1, 1);
	}
	used = empty - frame_table_unused_bytes();
	ck_assert_uint_ge(used, 3u << 20);
	ck_assert_uint_le(used, 4u << 20);
	ck_assert(frame_table_renew());
	frame_table_drop();
	ck_assert_uint_ge(frame_table_unused_bytes(), 2 * empty);
}
END_TEST

START_TEST(renewed)
{
	uintptr_t early = place(function(31, "early", "first"), 1, 5), later, kept;
	struct script_frame frame;
	uint32_t half;
	bool fresh;

	ck_assert(!frame_table_renew()); /* there is space */
	ck_assert(!frame_table_is_renewed());
	ck_assert_uint_eq(frame_table_keep(early), early);
	fill(0);
	half = frame_table_function(32, &fresh);
	ck_assert(fresh);
	ck_assert(frame_table_renew());
	ck_assert(frame_table_is_renewed());

	/* A walk in progress continues in the old table, and stored entries are unchanged. */
	frame_table_describe(half, JFR_FRAME_PYTHON, "half", "begun");
	is_called(place(half, 2, 6), "half", 6);
	is_called(early, "early", 5);
	/* The same function is stored again. */
	later = place(function(31, "early", "first"), 1, 5);
	ck_assert_uint_ne(later, early);
	is_called(later, "early", 5);

	/* A frame that outlives the old table is replaced by one of the new table. */
	kept = frame_table_keep(place(half, 2, 6));
	is_called(kept, "half", 6);
	ck_assert_uint_eq(frame_table_keep(early), later);
	ck_assert_uint_eq(frame_table_keep(later), later);
	ck_assert_uint_eq(frame_table_keep((uintptr_t)&kept), (uintptr_t)&kept);
	fill(ENOUGH);
	ck_assert(!frame_table_renew()); /* the old one is still there */
	frame_table_drop();
	ck_assert(!frame_table_is_renewed());
	is_called(kept, "half", 6);
	is_called(early, "[forgotten]", 0);
	ck_assert_uint_eq(frame_table_keep(early), early);
	ck_assert(frame_table_find(kept, &frame));
	ck_assert_str_eq(frame.file, "begun");
	ck_assert_int_eq(frame.type, JFR_FRAME_PYTHON);
}
END_TEST

/* Until each table has been reused: no frame ever has a wrong name, and each frame that was carried
 * over keeps its own. */
static void is_renewed_for_ever(void)
{
	uintptr_t kept = place(function(41, "kept", "for ever"), 1, 5), last[TURNS] = { 0 };
	char name[32];

	for (uint32_t turn = 0; turn < TURNS; turn++) {
		last[turn] = fill(turn * ENOUGH);
		snprintf(name, sizeof(name), "f%u", turn * ENOUGH + ENOUGH - 1);
		is_called(last[turn], name, turn * ENOUGH + ENOUGH - 1);
		ck_assert(frame_table_renew());
		is_called(last[turn], name, turn * ENOUGH + ENOUGH - 1);
		kept = frame_table_keep(kept);
		frame_table_drop();
		is_called(kept, "kept", 5);
		/* While a dropped table is not in use again. */
		for (uint32_t i = turn < 6 ? 0 : turn - 6; i <= turn; i++)
			is_called(last[i], "[forgotten]", 0);
	}
}

START_TEST(renewed_for_ever)
{
	is_renewed_for_ever();
}
END_TEST

/* Walks continue while tables are renewed and dropped. A function that a walk has looked up,
 * described and placed in its own workspace remains that function. */
static atomic_bool over;
static atomic_uint wrong, walks[THREADS];

static void *walk(void *number)
{
	atomic_uint *mine = number;
	struct script_frame frame;
	uint32_t seed = (uint32_t)(mine - walks), n;
	char name[32];
	uintptr_t pc;

	while (!atomic_load(&over)) {
		n = seed++ * 2654435761u % 1000000;
		snprintf(name, sizeof(name), "w%u", n);
		atomic_fetch_add(mine, 1); /* odd: in progress */
		pc = place(function(0x3000000000u + n, name, "file"), n, n);
		if (frame_table_find(pc, &frame) && strcmp(frame.name, name) &&
		    strcmp(frame.name, "[frame table full]") && strcmp(frame.name, "[unknown]"))
			atomic_fetch_add(&wrong, 1);
		atomic_fetch_add(mine, 1);
	}
	return NULL;
}

START_TEST(renewed_under_walks)
{
	pthread_t threads[THREADS];
	unsigned seen[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, walk, &walks[i]), 0);
	for (int turns = 0; turns < 12;) {
		if (!frame_table_renew()) {
			sched_yield();
			continue;
		}
		for (int i = 0; i < THREADS; i++)
			seen[i] = atomic_load(&walks[i]);
		for (int i = 0; i < THREADS; i++)
			while (seen[i] & 1 && atomic_load(&walks[i]) == seen[i])
				sched_yield();
		frame_table_drop();
		turns++;
	}
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(atomic_load(&wrong), 0);
}
END_TEST

/* A program that locks its memory, so that pages cannot be discarded. */
START_TEST(renewed_where_memory_is_locked)
{
	is_renewed_for_ever();
}
END_TEST

static void open_table(void)
{
	ck_assert_int_eq(frame_table_open(), 0);
	ck_assert_int_eq(frame_table_open(), 0);
}

static void open_locked(void)
{
	open_table();
	fill(0);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		_exit(0); /* locking may be forbidden here */
}

int main(void)
{
	Suite *suite = suite_create("frame_table");
	TCase *closed = tcase_create("closed"), *open = tcase_create("open");
	TCase *locked = tcase_create("locked");

	tcase_add_test(closed, nothing_before_open);
	tcase_add_checked_fixture(open, open_table, NULL);
	tcase_set_timeout(open, 120); /* eight seconds of CPU time under the thread sanitizer */
	tcase_add_test(open, as_told);
	tcase_add_test(open, not_described);
	tcase_add_test(open, told_by_many);
	tcase_add_test(open, described_in_a_forked_child);
	tcase_add_test(open, full);
	tcase_add_test(open, unused_bytes);
	tcase_add_test(open, renewed);
	tcase_add_test(open, renewed_for_ever);
	tcase_add_test(open, renewed_under_walks);
	tcase_add_checked_fixture(locked, open_locked, NULL);
	tcase_set_timeout(locked, 120);
	tcase_add_test(locked, renewed_where_memory_is_locked);
	suite_add_tcase(suite, closed);
	suite_add_tcase(suite, open);
	suite_add_tcase(suite, locked);
	return suite_run_all(suite);
}
