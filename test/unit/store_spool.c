/* upload/queue/store_spool.c and its notes: any process can take a stored report, one at a time,
 * complete. Reports beyond the limit or the age are dropped. A killed process leaves nothing
 * permanently. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "test/fixtures/a_report.h"
#include "test/fixtures/folder.h"
#include "test/fixtures/suite.h"
#include "upload/files/name.h"
#include "upload/files/temporary.h"
#include "upload/queue/origin.h"
#include "upload/queue/spool_note.h"
#include "upload/queue/store.h"

#define A 1u
#define B 2u

/* Disk space of a report of ten bytes, with its note. */
#define EACH (2ull * FOLDER_BLOCK)
#define MUCH (100 * EACH)

#define STEM "prog_42_2026-11-21T02-10-00Z"

static const char *const names[] = { "a", "b" };

/* What the file system does with locks. */
static enum { LOCKS, NO_LOCKS, LOCKS_OF_NFS4 } locks;

/* Replaces the C library's. NFSv4 locks only what is open for writing. */
int flock(int fd, int operation)
{
	if (locks == NO_LOCKS) {
		errno = ENOLCK;
		return -1;
	}
	if (locks == LOCKS_OF_NFS4 && operation & LOCK_EX &&
	    (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		errno = EBADF;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

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
				.sampling = { 1000000, 20000000, 4096 },
				.samples_taken = 99,
				.unique = 0xfedcba98,
				.losses = { .dropped_full = 5 } };
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void put(struct store *store, uint64_t ms_ago, unsigned int pending)
{
	struct report report = a_full_report(ms_ago);

	ck_assert_int_eq(store->put(store, &report, pending), 0);
}

START_TEST(what_is_taken_is_what_was_put)
{
	struct store *store = open_one(MUCH, names);
	struct report put_in = a_full_report(0);
	struct stored_report held;
	char text[11] = "";

	ck_assert_int_eq(store->put(store, &put_in, A | B), 0);
	ck_assert_int_eq(store->take(store, B, NULL, &held), 0);
	ck_assert_uint_eq(held.pending, A | B);
	ck_assert_uint_eq(held.report.start_ms, 1500);
	ck_assert_uint_eq(held.report.end_ms, put_in.end_ms);
	ck_assert_uint_eq(held.report.interval_ms, 1000);
	ck_assert_mem_eq(&held.report.sampling, &put_in.sampling, sizeof(put_in.sampling));
	ck_assert_uint_eq(held.report.samples_taken, 99);
	ck_assert_uint_eq(held.report.unique, 0xfedcba98);
	ck_assert_uint_eq(held.report.losses.dropped_full, 5);
	ck_assert_int_eq(held.report.pid, 42);
	ck_assert_str_eq(held.report.executable, "prog");
	ck_assert_str_eq(held.report.engine, "builtin");
	ck_assert_str_eq(held.report.engine_version, "7");
	ck_assert_str_eq(held.report.group, "g");
	ck_assert_str_eq(held.report.tags, "k=v");
	ck_assert_ptr_null(held.report.version);
	ck_assert_uint_eq(report_length(&held.report), 10);
	ck_assert_int_eq(fd_read(held.report.parts[0].fd, text, 10, 0), 0);
	ck_assert_str_eq(text, "0123456789");
	store->settle(store, &held, B);
	ck_assert_int_eq(store->take(store, B, NULL, &held), -ENOENT);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	ck_assert_uint_eq(held.pending, A);
	store->settle(store, &held, A);
	ck_assert_int_eq(folder_count(""), 0);
	store->close(store);
}
END_TEST

/* Reports are delivered, and the limit holds. */
START_TEST(works_on_nfs)
{
	struct stored_report held;
	struct store *store;

	locks = LOCKS_OF_NFS4;
	store = open_one(2 * EACH, names);
	for (unsigned int i = 0; i < 4; i++)
		put(store, 10000 - 1000 * i, A);
	ck_assert_int_eq(folder_count(".jfr"), 2);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	store->settle(store, &held, A);
	ck_assert_int_eq(folder_count(".jfr"), 1);
	store->close(store);
	locks = LOCKS;
}
END_TEST

/* Two processes would deliver the same report. */
START_TEST(needs_locks)
{
	struct store *store;

	locks = NO_LOCKS;
	ck_assert_int_eq(store_spool_open(&store, folder, MUCH, names, 2), -ENOLCK);
	ck_assert_int_eq(folder_count(""), 0);
	locks = LOCKS;
}
END_TEST

/* As in a read-only copy of a spool. Root could write. */
START_TEST(reads_what_cannot_be_written)
{
	static const char name[] = STEM ".spool.jfr";
	uid_t user = geteuid();
	struct stat st;
	int fd;

	folder_put(name, 10, 0);
	ck_assert_int_eq(fchmodat(folder_fd, name, 0400, 0), 0);
	ck_assert_int_eq(fchmod(folder_fd, 0711), 0);
	if (!user && fchownat(folder_fd, name, 12345, 12345, 0))
		return;
	ck_assert_int_eq(seteuid(user ? user : 12345), 0);
	fd = spool_note_open(folder_fd, name, &st);
	ck_assert_int_eq(seteuid(user), 0);
	ck_assert_int_ge(fd, 0);
	close(fd);
}
END_TEST

/* Two processes: a lock belongs to the open file, so two stores in one process are equivalent. */
START_TEST(two_never_take_one)
{
	struct store *first = open_one(MUCH, names), *second = open_one(MUCH, names);
	struct stored_report one, two, three;

	put(first, 2000, A);
	put(second, 1000, A);
	ck_assert_int_eq(first->take(first, A, NULL, &one), 0);
	ck_assert_int_eq(second->take(second, A, NULL, &two), 0);
	ck_assert_str_ne(one.file.name, two.file.name);
	ck_assert_uint_lt(one.report.end_ms, two.report.end_ms); /* the oldest first */
	ck_assert_int_eq(second->take(second, A, NULL, &three), -ENOENT);
	first->settle(first, &one, 0);
	ck_assert_int_eq(second->take(second, A, NULL, &three), 0);
	ck_assert_str_eq(three.file.name, one.file.name);
	second->settle(second, &three, A);
	second->settle(second, &two, A);
	first->close(first);
	second->close(second);
	ck_assert_int_eq(folder_count(""), 0);
}
END_TEST

/* Reports for a reporter that this process does not have stay for one that has it. */
START_TEST(others_reporters_are_remembered)
{
	static const char *const theirs[] = { "c", "a" };
	struct store *ours = open_one(MUCH, names), *store;
	struct stored_report held;

	put(ours, 0, A | B);
	ours->close(ours);
	store = open_one(MUCH, theirs);
	ck_assert_int_eq(store->take(store, A, NULL, &held), -ENOENT);
	ck_assert_int_eq(store->take(store, B, NULL, &held), 0);
	store->settle(store, &held, B);
	store->close(store);
	ours = open_one(MUCH, names);
	ck_assert_int_eq(ours->take(ours, A, NULL, &held), -ENOENT);
	ck_assert_int_eq(ours->take(ours, B, NULL, &held), 0);
	ours->settle(ours, &held, B);
	ours->close(ours);
	ck_assert_int_eq(folder_count(""), 0);
}
END_TEST

static const struct report_begun some = { 2, 5, 7, 100, DOUBT_NEXT };

/* Take the report that waits for BIT, with EXPECTED parts begun, continue to BEGUN, and return it. */
static void go_on(struct store *store, unsigned int bit, struct report_begun expected,
		  struct report_begun begun)
{
	struct stored_report held;

	ck_assert_int_eq(store->take(store, bit, NULL, &held), 0);
	ck_assert_mem_eq(held.report.begun, &expected, sizeof(expected));
	*held.report.begun = begun;
	store->settle(store, &held, 0);
}

/* The next process knows a reporter's progress, also if a process without that reporter was in
 * between. */
START_TEST(what_is_begun_is_gone_on_with)
{
	static const char *const theirs[] = { "c", "a" };
	const struct report_begun none = { 0 }, other = { 0, UINT32_MAX, 1, UINT32_MAX, 0 };
	struct store *store = open_one(MUCH, names);
	struct stored_report held;

	put(store, 0, A | B);
	go_on(store, B, none, some);
	go_on(store, A, none, none);
	store->close(store);
	store = open_one(MUCH, theirs);
	go_on(store, B, none, other);
	go_on(store, B, other, other);
	store->close(store);
	store = open_one(MUCH, names);
	go_on(store, A, other, none);
	go_on(store, A, none, none);
	go_on(store, B, some, some);
	ck_assert_int_eq(store->take(store, B, NULL, &held), 0);
	store->settle(store, &held, B);
	go_on(store, A, none, other);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	store->settle(store, &held, A);
	ck_assert_int_eq(folder_count(""), 0);
	store->close(store);
}
END_TEST

static const char *const odd[] = {
	"[\"0.0.0\",2,5,7,100,1]",
	"[\"" ASPROF_AGENT_VERSION "\",2,5,7,100]",
	"[\"" ASPROF_AGENT_VERSION "\",2,5,7,-100,1]",
	"[\"" ASPROF_AGENT_VERSION "\",2,5,7,1e10,1]",
	"[\"" ASPROF_AGENT_VERSION "\",2,5,7,{},1]",
	"[]",
	"7",
};

/* For another agent's numbers, and for invalid ones, only their existence is known. */
START_TEST(what_is_begun_otherwise_is_begun_anew)
{
	const struct report_begun anew = { .doubt = DOUBT_ALL };
	const char *entry = "[\"" ASPROF_AGENT_VERSION "\",2,5,7,100,1]", *at;
	char text[4096] = "", out[4096], name[NAME_FILE_SIZE + 1];
	struct store *store = open_one(MUCH, names);
	struct stored_report held;
	int fd;

	put(store, 0, B);
	go_on(store, B, (struct report_begun){ 0 }, some);
	ck_assert_int_eq(store->take(store, B, NULL, &held), 0);
	snprintf(name, sizeof(name), "%.*s.json", (int)strlen(held.file.name) - 4, held.file.name);
	store->settle(store, &held, 0);
	fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC);
	ck_assert_int_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
	at = strstr(text, entry);
	ck_assert_ptr_nonnull(at);
	snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, odd[_i], at + strlen(entry));
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(fd_write(fd, out, strlen(out), 0), 0);
	close(fd);
	go_on(store, B, anew, anew);
	store->close(store);
}
END_TEST

START_TEST(oldest_go_for_room)
{
	struct store *store = open_one(3 * EACH + 1, names);
	struct report report = a_full_report(0);
	struct stored_report held;

	for (unsigned int i = 0; i < 5; i++)
		put(store, 10000 - 1000 * i, A);
	ck_assert_int_eq(folder_count(".jfr"), 3);
	ck_assert_uint_eq(store->losses.dropped_full, 2);
	ck_assert_uint_eq(store->losses.dropped_bytes, 20);
	ck_assert_uint_eq(store->losses.spooled_bytes, 3 * EACH);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	ck_assert_uint_eq((report.end_ms - held.report.end_ms + 500) / 1000, 8);
	store->settle(store, &held, A);
	ck_assert_uint_eq(store->losses.spooled_bytes, 2 * EACH);
	report.parts[0].length = 3 * EACH;
	ck_assert_int_eq(store->put(store, &report, A), -EFBIG);
	store->close(store);
}
END_TEST

START_TEST(old_ones_go_whoever_they_wait_for)
{
	struct store *store = open_one(MUCH, names);

	put(store, STORE_AGE_MAX_MS + 5000, A);
	put(store, 0, A);
	store->close(store);
	store = open_one(MUCH, names);
	put(store, 0, A);
	ck_assert_int_eq(folder_count(".jfr"), 2);
	ck_assert_uint_eq(store->losses.dropped_aged, 1);
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

	folder_put(RECORDING ".spool.json", 100, 120);
	folder_put(RECORDING "-1.spool.json", 100, 0); /* its recording may come yet */
	folder_put("prog.spool.json", 100, 120);       /* not the agent's */
	folder_put(".asprof-agent.7.0", 100, 120);
	folder_put(".asprof-agent.7.1", 100, 0);
	folder_put(".asprof-agent.7.2", 100, 120);
	folder_put(".asprof-agent.7.3", 100, 4000);
	fd = openat(folder_fd, ".asprof-agent.7.2", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0); /* is being written */
	store = open_one(MUCH, names);
	put(store, 0, A);
	ck_assert(!folder_has(RECORDING ".spool.json"));
	ck_assert(folder_has(RECORDING "-1.spool.json"));
	ck_assert(folder_has("prog.spool.json"));
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

/* A report that was damaged is skipped, and does not delay later ones. */
START_TEST(damaged_notes_are_passed_over)
{
	struct store *store = open_one(MUCH, names);
	struct stored_report held;

	folder_put("prog_42_2020-01-01T00-00-00Z.spool.jfr", 10, 0);
	folder_put("prog_42_2020-01-01T00-00-00Z.spool.json", 10, 0);
	folder_put("prog_42_2020-01-01T00-00-01Z.spool.jfr", 10, 0);
	put(store, 0, A);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	ck_assert_uint_eq(held.report.samples_taken, 99);
	store->settle(store, &held, A);
	store->close(store);
}
END_TEST

/* NOTE next to a complete recording, written by this user. */
static void plant(const char *stem, const char *note)
{
	char name[NAME_FILE_SIZE];
	int fd;

	snprintf(name, sizeof(name), "%s.spool.jfr", stem);
	folder_put(name, 10, 0);
	snprintf(name, sizeof(name), "%s.spool.json", stem);
	fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_eq(fd_write(fd, note, strlen(note), -1), 0);
	close(fd);
}

#define NOTE(executable, group, machine)                                                  \
	"{\"executable\":\"" executable "\",\"group\":\"" group "\",\"pending\":[\"a\"]," \
	"\"origin\":{\"machine\":\"" machine "\"}}"

static const struct {
	const char *note;
	bool fit;
} planted[] = {
	{ NOTE("prog", "g", "ec2_i-1_"), true },
	{ NOTE("prog", "team/g", "ec2_i-1_"), true }, /* only in an object's name */
	{ NOTE("../../etc/logrotate.d/x", "g", "ec2_i-1_"), false },
	{ NOTE("etc/x", "g", "ec2_i-1_"), false },
	{ NOTE(".x", "g", "ec2_i-1_"), true }, /* the file is "_x…" */
	{ NOTE("", "g", "ec2_i-1_"), false },
	{ NOTE("prog", "../g", "ec2_i-1_"), false },
	{ NOTE("prog", "a/../g", "ec2_i-1_"), false },
	{ NOTE("prog", ".", "ec2_i-1_"), false },
	{ NOTE("prog", "a/..", "ec2_i-1_"), false },
	{ NOTE("prog", "/g", "ec2_i-1_"), true }, /* the setting accepts these, too */
	{ NOTE("prog", ".g", "ec2_i-1_"), true },
	{ NOTE("prog", "g", "../ec2_i-1_"), false },
	{ NOTE("prog", "g", "a/b"), false },
	{ "{\"executable\":\"prog\",\"pending\":[\"a\"]}", false }, /* without an origin */
};

START_TEST(what_leads_elsewhere_is_not_taken)
{
	struct store *store = open_one(MUCH, names);
	struct stored_report held;

	plant(STEM, planted[_i].note);
	ck_assert_int_eq(store->take(store, A, NULL, &held), planted[_i].fit ? 0 : -ENOENT);
	if (planted[_i].fit)
		store->settle(store, &held, A);
	store->close(store);
}
END_TEST

/* A report that could not be taken out is not stored. */
START_TEST(what_leads_elsewhere_is_not_put)
{
	struct store *store = open_one(MUCH, names);
	struct report report = a_full_report(0);

	report.executable = "../hidden";
	ck_assert_int_eq(store->put(store, &report, A), -EINVAL);
	ck_assert_int_eq(folder_count(""), 0);
	report.executable = ".hidden";
	ck_assert_int_eq(store->put(store, &report, A), 0);
	ck_assert_int_eq(folder_count(".spool.jfr"), 1);
	store->close(store);
}
END_TEST

enum trick { LINK, HARD_LINK, OTHER_USER, OTHER_USERS_NOTE };

/* Files that other users can put into a directory, in different ways. */
START_TEST(what_is_not_ours_alone_is_not_taken)
{
	static const char recording_name[] = STEM ".spool.jfr", note[] = STEM ".spool.json";
	struct store *store = open_one(MUCH, names);
	struct stored_report held;

	if (_i >= OTHER_USER && geteuid())
		return;
	plant(STEM, NOTE("prog", "g", "m"));
	switch ((enum trick)_i) {
	case LINK:
		ck_assert_int_eq(renameat(folder_fd, note, folder_fd, "elsewhere"), 0);
		ck_assert_int_eq(symlinkat("elsewhere", folder_fd, note), 0);
		break;
	case HARD_LINK:
		ck_assert_int_eq(linkat(folder_fd, recording_name, folder_fd, "elsewhere", 0), 0);
		break;
	case OTHER_USER:
		ck_assert_int_eq(fchownat(folder_fd, recording_name, 12345, 12345, 0), 0);
		break;
	case OTHER_USERS_NOTE:
		ck_assert_int_eq(fchownat(folder_fd, note, 12345, 12345, 0), 0);
		break;
	}
	ck_assert_int_eq(store->take(store, A, NULL, &held), -ENOENT);
	ck_assert(folder_has(recording_name) && folder_has(note));
	store->close(store);
}
END_TEST

/* Profiles of the local reporter, and any other files, do not count here and stay. */
START_TEST(what_is_not_the_spools_stays)
{
	static const char *const others[] = { "prog_42_2020-01-01T00-00-00Z.jfr",
					      "prog_42_2020-01-01T00-00-00Z.json",
					      "prog_42_2020-01-01T00-00-00Z-1.jfr",
					      "notes.spool.jfr" };
	struct store *store = open_one(2 * EACH, names);

	for (size_t i = 0; i < 4; i++)
		folder_put(others[i], 100 * FOLDER_BLOCK, 48 * 3600);
	for (unsigned int i = 0; i < 5; i++)
		put(store, 10000 - 1000 * i, A);
	ck_assert_int_eq(folder_count(".spool.json"), 2);
	for (size_t i = 0; i < 4; i++)
		ck_assert_msg(folder_has(others[i]), "%s is gone", others[i]);
	store->close(store);
}
END_TEST

/* Two services on one spool: each takes only the reports for its own destination. */
START_TEST(each_takes_what_is_for_its_own_place)
{
	static const char *const one[] = { "local /a 1", "s3 host:443 b/one-" };
	static const char *const two[] = { "local /a 1", "s3 host:443 b/two-" };
	struct store *first = open_one(MUCH, one), *second = open_one(MUCH, two);
	struct stored_report held;

	put(first, 3000, A | B);
	put(second, 2000, B);
	ck_assert_int_eq(second->take(second, B, NULL, &held), 0);
	ck_assert_uint_eq(held.pending, B);
	second->settle(second, &held, B);
	ck_assert_int_eq(second->take(second, B, NULL, &held), -ENOENT);
	/* The directory belongs to both; the reports for the other's bucket are still known
	 * afterwards. */
	ck_assert_int_eq(second->take(second, A, NULL, &held), 0);
	second->settle(second, &held, A);
	ck_assert_int_eq(folder_count(".spool.jfr"), 1);
	ck_assert_int_eq(first->take(first, A, NULL, &held), -ENOENT);
	ck_assert_int_eq(first->take(first, B, NULL, &held), 0);
	first->settle(first, &held, B);
	ck_assert_int_eq(folder_count(""), 0);
	first->close(first);
	second->close(second);
}
END_TEST

/* Two reporters that only another process has: neither is forgotten. */
START_TEST(all_places_of_another_are_remembered)
{
	static const char *const theirs[] = { "a", "c" };
	struct store *ours = open_one(MUCH, names), *store;
	static const char *const three[] = { "x", "y", "a" };
	struct stored_report held;

	ck_assert_int_eq(store_spool_open(&store, folder, MUCH, three, 3), 0);
	put(store, 0, 7);
	store->close(store);
	store = open_one(MUCH, theirs);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	store->settle(store, &held, A);
	store->close(store);
	ours->close(ours);
	ck_assert_int_eq(store_spool_open(&store, folder, MUCH, three, 3), 0);
	ck_assert_int_eq(store->take(store, 4, NULL, &held), -ENOENT);
	ck_assert_int_eq(store->take(store, 1, NULL, &held), 0);
	ck_assert_uint_eq(held.pending, 3);
	store->settle(store, &held, 3);
	store->close(store);
	ck_assert_int_eq(folder_count(""), 0);
}
END_TEST

/* A directory that every user can write to, as /tmp: then each user has a subdirectory. */
START_TEST(shared_directory_has_one_for_each)
{
	struct store *store;
	char uid[16];
	struct stat st;

	snprintf(uid, sizeof(uid), "%u", geteuid());
	ck_assert_int_eq(fchmod(folder_fd, _i ? 0770 : 01777), 0);
	store = open_one(MUCH, names);
	put(store, 0, A);
	ck_assert_int_eq(folder_count(""), 0);
	ck_assert_int_eq(fstatat(folder_fd, uid, &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_uint_eq(st.st_mode, S_IFDIR | 0700);
	store->close(store);
	ck_assert_int_eq(fchmod(folder_fd, 0700), 0);
	ck_assert_int_eq(nftw(folder_path(uid), remove_one, 4, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

/* Which other users may have made first. */
START_TEST(shared_directory_is_not_trusted)
{
	struct store *store;
	char uid[16];

	snprintf(uid, sizeof(uid), "%u", geteuid());
	ck_assert_int_eq(fchmod(folder_fd, 01777), 0);
	ck_assert_int_eq(mkdirat(folder_fd, "target", 0700), 0);
	if (_i == 0)
		ck_assert_int_eq(symlinkat("target", folder_fd, uid), 0);
	else
		ck_assert_int_eq(mkdirat(folder_fd, uid, 0700), 0);
	if (_i == 1)
		ck_assert_int_eq(fchmodat(folder_fd, uid, 0777, 0), 0);
	if (_i == 2 && fchownat(folder_fd, uid, 12345, 12345, 0))
		return;
	ck_assert_int_lt(store_spool_open(&store, folder, MUCH, names, 2), 0);
	ck_assert_int_eq(unlinkat(folder_fd, "target", AT_REMOVEDIR), 0); /* it is empty */
}
END_TEST

START_TEST(removed_directory_comes_back)
{
	char command[128];
	struct store *store = open_one(MUCH, names);
	struct stored_report held;

	put(store, 1000, A);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
	put(store, 0, A);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	store->settle(store, &held, A);
	ck_assert_int_eq(store->take(store, A, NULL, &held), -ENOENT);
	store->close(store);
}
END_TEST

/* The contents of a note, in a process elsewhere; none of them is secret. */
START_TEST(note_says_whom_it_is_of)
{
	char *const environment[] = { "POD_NAME=origin-pod", "AWS_SECRET_ACCESS_KEY=hush",
				      "OTEL_RESOURCE_ATTRIBUTES=a=b,service.version=7%2C1", NULL };
	struct store *store = open_one(MUCH, names);
	char text[4096] = "", host[ORIGIN_HOST_MAX] = "";
	struct stored_report held;
	int fd;

	ck_assert_int_eq(origin_capture(environment), 0);
	put(store, 0, A);
	ck_assert_int_eq(store->take(store, A, NULL, &held), 0);
	ck_assert_ptr_nonnull(
		strstr(held.report.origin, "\"kubernetes\":{\"pod\":\"origin-pod\"}"));
	ck_assert_ptr_nonnull(strstr(held.report.origin, "\"hostname\":"));
	ck_assert_int_eq(gethostname(host, sizeof(host)), 0);
	ck_assert_str_eq(held.report.host, host);
	ck_assert_str_eq(held.report.version, "7,1");
	snprintf(text, sizeof(text), "%.*s.json", (int)strlen(held.file.name) - 4, held.file.name);
	fd = openat(folder_fd, text, O_RDONLY | O_CLOEXEC);
	memset(text, 0, sizeof(text));
	ck_assert_int_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
	close(fd);
	ck_assert_ptr_null(strstr(text, "hush"));
	store->settle(store, &held, A);
	store->close(store);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("store_spool");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_is_taken_is_what_was_put);
	tcase_add_test(tcase, works_on_nfs);
	tcase_add_test(tcase, needs_locks);
	tcase_add_test(tcase, reads_what_cannot_be_written);
	tcase_add_test(tcase, two_never_take_one);
	tcase_add_test(tcase, others_reporters_are_remembered);
	tcase_add_test(tcase, what_is_begun_is_gone_on_with);
	tcase_add_loop_test(tcase, what_is_begun_otherwise_is_begun_anew, 0,
			    sizeof(odd) / sizeof(odd[0]));
	tcase_add_test(tcase, oldest_go_for_room);
	tcase_add_test(tcase, old_ones_go_whoever_they_wait_for);
	tcase_add_test(tcase, a_killed_process_leaves_nothing_for_good);
	tcase_add_test(tcase, damaged_notes_are_passed_over);
	tcase_add_loop_test(tcase, what_leads_elsewhere_is_not_taken, 0,
			    sizeof(planted) / sizeof(planted[0]));
	tcase_add_test(tcase, what_leads_elsewhere_is_not_put);
	tcase_add_loop_test(tcase, what_is_not_ours_alone_is_not_taken, LINK, OTHER_USERS_NOTE + 1);
	tcase_add_test(tcase, what_is_not_the_spools_stays);
	tcase_add_test(tcase, each_takes_what_is_for_its_own_place);
	tcase_add_test(tcase, all_places_of_another_are_remembered);
	tcase_add_loop_test(tcase, shared_directory_has_one_for_each, 0, 2);
	tcase_add_loop_test(tcase, shared_directory_is_not_trusted, 0, 3);
	tcase_add_test(tcase, removed_directory_comes_back);
	tcase_add_test(tcase, note_says_whom_it_is_of);
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
