/* upload/queue/store_memory.c: stored reports are returned, the oldest are dropped for new ones,
 * and a report that cannot be stored is counted and takes no memory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "test/fixtures/a_report.h"
#include "test/fixtures/suite.h"
#include "upload/queue/store.h"

#define A 1u
#define B 2u

static struct store *store;

static void setup(void)
{
	recording_make();
	ck_assert_int_eq(store_memory_open(&store, 12), 0); /* two reports of five bytes */
}

static void teardown(void)
{
	store->close(store);
}

static void put(uint64_t end_ms, unsigned int pending)
{
	struct report report = a_report(end_ms);

	ck_assert_int_eq(store->put(store, &report, pending), 0);
}

/* The file with the waiting reports: the only one of that name here. */
static struct stat file_status(void)
{
	char path[32], target[64];
	struct stat st = { 0 };

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memset(target, 0, sizeof(target));
		if (readlink(path, target, sizeof(target) - 1) > 0 &&
		    strstr(target, "memfd:asprof-upload") && !fstat(fd, &st))
			return st;
	}
	ck_abort_msg("no file that reports wait in");
	return st;
}

static long pages_in_use(void)
{
	return file_status().st_blocks * 512 / sysconf(_SC_PAGESIZE);
}

START_TEST(what_is_taken_is_what_was_put)
{
	struct stored_report held;
	char text[6] = "";

	put(1000, A | B);
	ck_assert_int_eq(store->take(store, B, NULL, &held), 0);
	ck_assert_uint_eq(held.pending, A | B);
	ck_assert_uint_eq(held.report.end_ms, 1000);
	ck_assert_str_eq(held.report.executable, "prog");
	ck_assert_uint_eq(held.report.part_count, 1);
	ck_assert_uint_eq(held.report.parts[0].length, 5);
	ck_assert_int_eq(fd_read(held.report.parts[0].fd, text, 5, held.report.parts[0].offset), 0);
	ck_assert_str_eq(text, "23478");
	store->settle(store, &held, B);
	ck_assert_int_eq(store->take(store, B, NULL, &held), -ENOENT);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	ck_assert_uint_eq(store->losses.spooled_bytes, 5);
	store->settle(store, &held, A);
	ck_assert_uint_eq(store->losses.spooled_bytes, 0);
	ck_assert_int_eq(pages_in_use(), 0);
}
END_TEST

/* A change of the settings frees the old ones; the host's name is on a stack. */
START_TEST(its_words_are_its_own)
{
	char host[] = "machine", group[] = "team", tags[] = "owner=me", version[] = "1.2";
	struct report report = a_report(1000);
	struct stored_report held;

	report.host = host;
	report.group = group;
	report.tags = tags;
	report.version = version;
	ck_assert_int_eq(store->put(store, &report, A), 0);
	for (size_t i = 0; i < 4; i++) {
		char *text = (char *[]){ host, group, tags, version }[i];

		memset(text, 'x', strlen(text));
	}
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	ck_assert_str_eq(held.report.host, "machine");
	ck_assert_str_eq(held.report.group, "team");
	ck_assert_str_eq(held.report.tags, "owner=me");
	ck_assert_str_eq(held.report.version, "1.2");
	store->settle(store, &held, A);
	report.host = report.group = report.tags = report.version = NULL;
	ck_assert_int_eq(store->put(store, &report, A), 0);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	ck_assert_ptr_null(held.report.host);
	ck_assert_ptr_null(held.report.group);
	store->settle(store, &held, A);
}
END_TEST

START_TEST(the_oldest_makes_room)
{
	struct stored_report held;

	for (uint64_t i = 1; i <= 3; i++)
		put(i * 1000, A);
	ck_assert_uint_eq(store->losses.dropped_full, 1);
	ck_assert_uint_eq(store->losses.dropped_bytes, 5);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	ck_assert_uint_eq(held.report.end_ms, 2000);
	store->settle(store, &held, A);
	/* A removed report leaves nothing, though the file was never empty. */
	for (uint64_t i = 4; i <= 100; i++)
		put(i * 1000, A);
	ck_assert_int_eq(pages_in_use(), 2);
	/* And the file does not grow: it may have a limit. */
	ck_assert_int_le(file_status().st_size, 3 * sysconf(_SC_PAGESIZE));
}
END_TEST

START_TEST(what_is_being_delivered_stays)
{
	struct stored_report first, second;

	put(1000, A | B);
	put(2000, A | B);
	ck_assert_int_eq(store->take(store, A, NULL, &first), 0);
	put(3000, A | B);
	ck_assert_int_eq(store->take(store, B, NULL, &second), 0);
	ck_assert_uint_eq(first.report.end_ms, 1000);
	ck_assert_uint_eq(second.report.end_ms, 1000);
	store->settle(store, &first, A);
	store->settle(store, &second, B);
	ck_assert_int_eq(store->take(store, A, NULL, &first), 0);
	ck_assert_uint_eq(first.report.end_ms, 3000);
	store->settle(store, &first, 0);
}
END_TEST

static const struct {
	struct report_part part;
	int err;
} bad[] = {
	{ { .offset = 0, .length = 13 }, -EFBIG },
	{ { .offset = 5, .length = 8 }, -ENODATA }, /* of which five are stored */
};

START_TEST(what_cannot_be_kept_is_counted)
{
	struct report report = a_report(1000);
	struct stored_report held;

	put(1000, A);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	store->settle(store, &held, A);
	report.part_count = 1;
	report.parts[0] = bad[_i].part;
	report.parts[0].fd = recording;
	ck_assert_int_eq(store->put(store, &report, A), bad[_i].err);
	ck_assert_uint_eq(store->losses.dropped_full, 1);
	ck_assert_uint_eq(store->losses.dropped_bytes, report_length(&report));
	ck_assert_uint_eq(store->losses.spooled_bytes, 0);
	ck_assert_int_eq(pages_in_use(), 0);
	ck_assert_int_eq(store->take(store, A, NULL, &held), -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("store_memory");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_is_taken_is_what_was_put);
	tcase_add_test(tcase, its_words_are_its_own);
	tcase_add_test(tcase, the_oldest_makes_room);
	tcase_add_test(tcase, what_is_being_delivered_stays);
	tcase_add_loop_test(tcase, what_cannot_be_kept_is_counted, 0, sizeof(bad) / sizeof(bad[0]));
	return suite_run(tcase);
}
