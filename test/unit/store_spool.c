/* upload/store_spool.c and its notes: what was put is taken by whoever comes, by one at a time,
 * whole; what is too much or too old goes; a killed process leaves nothing for good. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "core/clock.h"
#include "core/fd.h"
#include "test/fixtures/a_report.h"
#include "test/fixtures/folder.h"
#include "test/fixtures/suite.h"
#include "upload/name.h"
#include "upload/store.h"
#include "upload/temporary.h"

#define A 1u
#define B 2u

static const char *const names[] = { "a", "b" };

static void setup(void)
{
	folder_make();
	recording_make();
}

static void teardown(void)
{
	folder_remove();
}

static struct store *open_one(uint64_t max_bytes, const char *const *reporters)
{
	struct store *store = NULL;

	ck_assert_int_eq(store_spool_open(&store, folder, max_bytes, reporters, 2), 0);
	return store;
}

static struct report a_full_report(uint64_t ms_ago)
{
	return (struct report){ .parts = { { recording, 0, 10 } },
				.part_count = 1,
				.end_ms = clock_realtime_ns() / 1000000 - ms_ago,
				.start_ms = 1500,
				.interval_ms = 1000,
				.pid = 42,
				.executable = "prog",
				.engine = "builtin",
				.engine_version = "7",
				.group = "g",
				.tags = "k=v",
				.samples_taken = 99,
				.unique = 0xfedcba98,
				.losses = { .full = 5 } };
}

static void put(struct store *store, uint64_t ms_ago, unsigned int pending)
{
	struct report report = a_full_report(ms_ago);

	ck_assert_int_eq(store->put(store, &report, pending), 0);
}

START_TEST(what_is_taken_is_what_was_put)
{
	struct store *store = open_one(1000, names);
	struct report put_in = a_full_report(0);
	struct held held;
	char text[11] = "";

	ck_assert_int_eq(store->put(store, &put_in, A | B), 0);
	ck_assert_int_eq(store->take(store, B, &held), 0);
	ck_assert_uint_eq(held.pending, A | B);
	ck_assert_uint_eq(held.report.start_ms, 1500);
	ck_assert_uint_eq(held.report.end_ms, put_in.end_ms);
	ck_assert_uint_eq(held.report.interval_ms, 1000);
	ck_assert_uint_eq(held.report.samples_taken, 99);
	ck_assert_uint_eq(held.report.unique, 0xfedcba98);
	ck_assert_uint_eq(held.report.losses.full, 5);
	ck_assert_int_eq(held.report.pid, 42);
	ck_assert_str_eq(held.report.executable, "prog");
	ck_assert_str_eq(held.report.engine, "builtin");
	ck_assert_str_eq(held.report.engine_version, "7");
	ck_assert_str_eq(held.report.group, "g");
	ck_assert_str_eq(held.report.tags, "k=v");
	ck_assert_uint_eq(report_length(&held.report), 10);
	ck_assert_int_eq(fd_read(held.report.parts[0].fd, text, 10, 0), 0);
	ck_assert_str_eq(text, "0123456789");
	store->settle(store, &held, B);
	ck_assert_int_eq(store->take(store, B, &held), -ENOENT);
	ck_assert_int_eq(store->take(store, A, &held), 0);
	ck_assert_uint_eq(held.pending, A);
	store->settle(store, &held, A);
	ck_assert_int_eq(folder_count(""), 0);
	store->close(store);
}
END_TEST

/* Two processes: a lock belongs to the open file, so two stores in one are as good. */
START_TEST(two_never_take_one)
{
	struct store *first = open_one(1000, names), *second = open_one(1000, names);
	struct held one, two, three;

	put(first, 2000, A);
	put(second, 1000, A);
	ck_assert_int_eq(first->take(first, A, &one), 0);
	ck_assert_int_eq(second->take(second, A, &two), 0);
	ck_assert_str_ne(one.file.name, two.file.name);
	ck_assert_uint_lt(one.report.end_ms, two.report.end_ms); /* the oldest first */
	ck_assert_int_eq(second->take(second, A, &three), -ENOENT);
	first->settle(first, &one, 0);
	ck_assert_int_eq(second->take(second, A, &three), 0);
	ck_assert_str_eq(three.file.name, one.file.name);
	second->settle(second, &three, A);
	second->settle(second, &two, A);
	first->close(first);
	second->close(second);
	ck_assert_int_eq(folder_count(""), 0);
}
END_TEST

/* What waits for a reporter that this process does not have stays for one that has. */
START_TEST(others_reporters_are_remembered)
{
	static const char *const theirs[] = { "c", "a" };
	struct store *ours = open_one(1000, names), *store;
	struct held held;

	put(ours, 0, A | B);
	ours->close(ours);
	store = open_one(1000, theirs);
	ck_assert_int_eq(store->take(store, A, &held), -ENOENT);
	ck_assert_int_eq(store->take(store, B, &held), 0);
	store->settle(store, &held, B);
	store->close(store);
	ours = open_one(1000, names);
	ck_assert_int_eq(ours->take(ours, A, &held), -ENOENT);
	ck_assert_int_eq(ours->take(ours, B, &held), 0);
	ours->settle(ours, &held, B);
	ours->close(ours);
	ck_assert_int_eq(folder_count(""), 0);
}
END_TEST

START_TEST(oldest_go_for_room)
{
	struct store *store = open_one(35, names);
	struct report report = a_full_report(0);
	struct held held;

	for (unsigned int i = 0; i < 5; i++)
		put(store, 10000 - 1000 * i, A);
	ck_assert_int_eq(folder_count(".jfr"), 3);
	ck_assert_uint_eq(store->losses.full, 2);
	ck_assert_uint_eq(store->losses.dropped_bytes, 20);
	ck_assert_uint_eq(store->losses.spooled_bytes, 30);
	ck_assert_int_eq(store->take(store, A, &held), 0);
	ck_assert_uint_eq((report.end_ms - held.report.end_ms + 500) / 1000, 8);
	store->settle(store, &held, A);
	ck_assert_uint_eq(store->losses.spooled_bytes, 20);
	report.parts[0].length = 36;
	ck_assert_int_eq(store->put(store, &report, A), -EFBIG);
	store->close(store);
}
END_TEST

START_TEST(old_ones_go_whoever_they_wait_for)
{
	struct store *store = open_one(1000, names);

	put(store, STORE_AGE_MAX_MS + 5000, A);
	put(store, 0, A);
	store->close(store);
	store = open_one(1000, names);
	put(store, 0, A);
	ck_assert_int_eq(folder_count(".jfr"), 2);
	ck_assert_uint_eq(store->losses.aged, 1);
	ck_assert_uint_eq(store->losses.dropped_bytes, 10);
	store->close(store);
}
END_TEST

#define RECORDING "prog_42_2026-11-21T02-10-00Z"

/* Killed between the two files of a report, or in the middle of one. */
START_TEST(a_killed_process_leaves_nothing_for_good)
{
	char temporary[NAME_FILE_SIZE];
	struct store *store;
	int fd;

	folder_put(RECORDING ".json", 100, 120);
	folder_put(RECORDING "-1.json", 100, 0); /* its recording may come yet */
	folder_put("prog.json", 100, 120);       /* not ours */
	folder_put(".asprof-agent.7.0", 100, 120);
	folder_put(".asprof-agent.7.1", 100, 0);
	folder_put(".asprof-agent.7.2", 100, 120);
	folder_put(".asprof-agent.7.3", 100, 4000);
	fd = openat(folder_fd, ".asprof-agent.7.2", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0); /* is being written */
	store = open_one(1000, names);
	put(store, 0, A);
	ck_assert(!folder_has(RECORDING ".json"));
	ck_assert(folder_has(RECORDING "-1.json"));
	ck_assert(folder_has("prog.json"));
	ck_assert(!folder_has(".asprof-agent.7.0"));
	ck_assert(folder_has(".asprof-agent.7.1"));
	ck_assert(folder_has(".asprof-agent.7.2"));
	ck_assert(!folder_has(".asprof-agent.7.3"));
	close(fd);
	store->close(store);
	fd = temporary_create(folder_fd, 0600, temporary);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(temporary_close(folder_fd, temporary, fd, 0), 0);
	ck_assert(folder_has(temporary));
}
END_TEST

/* A report that somebody damaged is passed over, and those behind it are not held up. */
START_TEST(damaged_notes_are_passed_over)
{
	struct store *store = open_one(1000, names);
	struct held held;

	folder_put("prog_42_2020-01-01T00-00-00Z.jfr", 10, 0);
	folder_put("prog_42_2020-01-01T00-00-00Z.json", 10, 0);
	folder_put("prog_42_2020-01-01T00-00-01Z.jfr", 10, 0);
	put(store, 0, A);
	ck_assert_int_eq(store->take(store, A, &held), 0);
	ck_assert_uint_eq(held.report.samples_taken, 99);
	store->settle(store, &held, A);
	store->close(store);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("store_spool");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_is_taken_is_what_was_put);
	tcase_add_test(tcase, two_never_take_one);
	tcase_add_test(tcase, others_reporters_are_remembered);
	tcase_add_test(tcase, oldest_go_for_room);
	tcase_add_test(tcase, old_ones_go_whoever_they_wait_for);
	tcase_add_test(tcase, a_killed_process_leaves_nothing_for_good);
	tcase_add_test(tcase, damaged_notes_are_passed_over);
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
