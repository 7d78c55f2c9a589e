/* upload/local/local.c, with dir.c and limit.c: profiles appear complete, under free names, within
 * limits. */
#include "upload/local/local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "test/fixtures/a_report.h"
#include "test/fixtures/log_file.h"
#include "test/fixtures/suite.h"
#include "upload/files/place.h"

/* Disk space of a profile of a few bytes. */
#define BLOCK 4096

#define DAY_MS (24 * 3600 * 1000ull)

static char base[] = "/tmp/asprof-local-XXXXXX";
static char dir[PATH_MAX], logfile[PATH_MAX];
static struct config config;
static struct reporter *reporter;

static void setup(void)
{
	strcpy(base + strlen(base) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	snprintf(dir, sizeof(dir), "%s/deep/er", base);
	snprintf(logfile, sizeof(logfile), "%s/log", base);
	ck_assert_int_eq(log_open(LOG_DEBUG, logfile), 0);
	config = (struct config){ .local_dir = dir,
				  .local_max_bytes = 1 << 30,
				  .local_max_age_ns = OPTION_OFF };
	recording_make();
}

static void teardown(void)
{
	char command[sizeof(base) + 16];

	if (reporter)
		reporter->close(reporter);
	reporter = NULL;
	close(recording);
	snprintf(command, sizeof(command), "rm -rf %s", base);
	ck_assert_int_eq(system(command), 0);
}

static void deliver(uint64_t end_ms)
{
	struct report report = a_report(end_ms);

	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
}

static void open_it(void)
{
	ck_assert_int_eq(local_reporter_open(&reporter, &config), 0);
}

/* Compare the content of DIR/NAME; NULL expects that there is none. */
static void expect(const char *name, const char *content)
{
	char path[PATH_MAX * 2], read[64] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg((fd >= 0) == (content != NULL), "%s", path);
	if (fd < 0)
		return;
	ck_assert_int_ge(pread(fd, read, sizeof(read) - 1, 0), 0);
	close(fd);
	ck_assert_str_eq(read, content);
}

static int count_files(void)
{
	DIR *listing = opendir(dir);
	struct dirent *entry;
	int count = 0;

	ck_assert_ptr_nonnull(listing);
	while ((entry = readdir(listing)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			count++;
	closedir(listing);
	return count;
}

static int count_log(const char *what)
{
	return log_file_count(logfile, what);
}

static void put(const char *name, size_t bytes)
{
	char path[PATH_MAX * 2], text[1000];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	memset(text, 'x', sizeof(text));
	ck_assert_uint_le(bytes, sizeof(text));
	ck_assert_int_eq(write(fd, text, bytes), (ssize_t)bytes);
	close(fd);
}

START_TEST(writes_parts_under_free_names)
{
	open_it();
	deliver(5000);
	deliver(5999);
	deliver(5000);
	expect("prog_42_1970-01-01T00-00-05Z.jfr", "23478");
	expect("prog_42_1970-01-01T00-00-05Z-1.jfr", "23478");
	expect("prog_42_1970-01-01T00-00-05Z-2.jfr", "23478");
	ck_assert_int_eq(count_files(), 3);
}
END_TEST

START_TEST(relative_directory_outlives_chdir)
{
	char *const environment[] = { NULL };

	ck_assert_int_eq(chdir(base), 0);
	config.local_dir = "deep/er";
	ck_assert_int_eq(place_capture(&config, environment), 0);
	ck_assert_int_eq(chdir("/tmp"), 0); /* before the agent thread reaches it, and after */
	open_it();
	ck_assert_int_eq(chdir("/"), 0);
	deliver(5000);
	expect("prog_42_1970-01-01T00-00-05Z.jfr", "23478");
}
END_TEST

START_TEST(removed_directory_comes_back)
{
	char command[PATH_MAX + 16];

	open_it();
	snprintf(command, sizeof(command), "rm -r %s/deep", base);
	ck_assert_int_eq(system(command), 0);
	deliver(5000);
	expect("prog_42_1970-01-01T00-00-05Z.jfr", "23478");
}
END_TEST

START_TEST(oldest_go_first)
{
	config.local_max_bytes = 2 * BLOCK;
	open_it();
	put("foreign_1970.jfr", 1000);
	put("other_7_1970-01-01T00-00-02Z.jfr", 4);
	deliver(3000);
	expect("other_7_1970-01-01T00-00-02Z.jfr", "xxxx");
	deliver(4000);
	expect("other_7_1970-01-01T00-00-02Z.jfr", NULL);
	deliver(5000);
	expect("prog_42_1970-01-01T00-00-03Z.jfr", NULL);
	expect("prog_42_1970-01-01T00-00-04Z.jfr", "23478");
	expect("prog_42_1970-01-01T00-00-05Z.jfr", "23478");
	ck_assert_int_eq(count_files(), 3);
}
END_TEST

START_TEST(many_go_at_once)
{
	char name[64];

	config.local_max_bytes = 100 * BLOCK;
	ck_assert_int_eq(mkdir(strcat(strcpy(name, base), "/deep"), 0755), 0);
	ck_assert_int_eq(mkdir(dir, 0755), 0);
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "p_%d_2020-01-01T%02d-%02d-00Z.jfr", i, i / 60,
			 i % 60);
		put(name, 10);
	}
	open_it();
	deliver(clock_realtime_ns() / 1000000);
	/* 100 less the new one, less a thirty-second, leaves 95. */
	ck_assert_int_eq(count_files(), 96);
	expect("p_305_2020-01-01T05-05-00Z.jfr", "xxxxxxxxxx");
	expect("p_304_2020-01-01T05-04-00Z.jfr", NULL);
}
END_TEST

START_TEST(newest_stays_however_large)
{
	config.local_max_bytes = 1;
	open_it();
	deliver(3000);
	deliver(4000);
	expect("prog_42_1970-01-01T00-00-03Z.jfr", NULL);
	expect("prog_42_1970-01-01T00-00-04Z.jfr", "23478");
}
END_TEST

START_TEST(zero_keeps_all)
{
	config.local_max_bytes = 0;
	open_it();
	for (uint64_t i = 1; i <= 5; i++)
		deliver(i * 1000);
	ck_assert_int_eq(count_files(), 5);
}
END_TEST

START_TEST(aged_ones_go)
{
	uint64_t now = clock_realtime_ns() / 1000000;

	config.local_max_bytes = 0;
	open_it();
	deliver(now - 2 * DAY_MS);
	deliver(now - DAY_MS / 2);
	reporter->close(reporter);
	config.local_max_age_ns = DAY_MS * 1000000;
	open_it();
	deliver(now);
	ck_assert_int_eq(count_files(), 2);
}
END_TEST

START_TEST(stale_temporaries_go)
{
	struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	char path[PATH_MAX * 2];

	open_it();
	put(".asprof-agent.1.0", 10);
	put(".asprof-agent.2.0", 10);
	snprintf(path, sizeof(path), "%s/.asprof-agent.1.0", dir);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
	deliver(1000);
	expect(".asprof-agent.1.0", NULL);
	expect(".asprof-agent.2.0", "xxxxxxxxxx");
}
END_TEST

/* Four processes, one directory, limits on: every file is complete and nothing fails. */
START_TEST(processes_share)
{
	config.local_max_bytes = 40 * BLOCK;
	for (int i = 0; i < 4; i++) {
		if (fork())
			continue;
		open_it();
		for (uint64_t n = 0; n < 50; n++)
			deliver((n / 2) * 1000);
		_exit(0);
	}
	for (int i = 0, status; i < 4; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	open_it();
	deliver(100000);
	ck_assert_int_ge(count_files(), 2);
	ck_assert_int_le(count_files(), 40);
	ck_assert_int_eq(count_log("cannot"), 0);
}
END_TEST

/* A limit of the file size represents the full disk; the log reaches it too. */
START_TEST(full_disk_leaves_nothing)
{
	struct rlimit limit = { 4, RLIM_INFINITY }, none = { RLIM_INFINITY, RLIM_INFINITY };
	struct report report = a_report(1000);

	open_it();
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(reporter->deliver(reporter, &report), -EFBIG);
	ck_assert_int_eq(reporter->deliver(reporter, &report), -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	ck_assert_int_eq(count_files(), 0);
	deliver(2000);
	expect("prog_42_1970-01-01T00-00-02Z.jfr", "23478");
}
END_TEST

START_TEST(failure_is_said_once)
{
	char path[PATH_MAX * 2];
	struct report report = a_report(1000);

	open_it();
	snprintf(path, sizeof(path), "%s/deep", base);
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(rmdir(path), 0);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	ck_assert_int_eq(reporter->deliver(reporter, &report), -ENOTDIR);
	ck_assert_int_eq(reporter->deliver(reporter, &report), -ENOTDIR);
	ck_assert_int_eq(count_log("cannot write a profile in"), 1);
	ck_assert_int_eq(unlink(path), 0);
	deliver(2000);
	ck_assert_int_eq(count_log("again"), 1);
}
END_TEST

START_TEST(not_a_directory_is_refused)
{
	char path[PATH_MAX * 2];

	snprintf(path, sizeof(path), "%s/deep", base);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	ck_assert_int_eq(local_reporter_open(&reporter, &config), -ENOTDIR);
	ck_assert_int_eq(count_log("LOCAL_DIR"), 1);
}
END_TEST

enum spoil { FINE, LINK, STRANGER, OPEN_MODE, PLAIN_FILE };

static const struct {
	enum spoil spoil;
	int err;
	const char *word;
} defaults[] = {
	{ FINE, 0, NULL },
	{ LINK, -ELOOP, "symbolic link" },
	{ STRANGER, -EPERM, "another user" },
	{ OPEN_MODE, -EACCES, "other users" },
	{ PLAIN_FILE, -ENOTDIR, "Not a directory" },
};

START_TEST(default_directory)
{
	char tmpdir[sizeof(base) + 16];
	char *const environment[] = { "TMP=/x", tmpdir, "TMPDIR=/y", NULL };
	struct stat st;

	if (!access("/var/lib/asprof-agent", W_OK))
		return; /* provided by this machine */
	config.local_dir = NULL;
	snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", base);
	ck_assert_int_eq(place_capture(&config, environment), 0);
	memset(tmpdir, 'x', strlen(tmpdir)); /* like a program that sets its title */
	snprintf(dir, sizeof(dir), "%s/asprof-agent-%u", base, geteuid());
	switch (defaults[_i].spoil) {
	case FINE:
		break;
	case LINK:
		ck_assert_int_eq(symlink("/tmp", dir), 0);
		break;
	case STRANGER:
		if (geteuid())
			return;
		ck_assert_int_eq(mkdir(dir, 0700), 0);
		ck_assert_int_eq(chown(dir, 12345, 12345), 0);
		break;
	case OPEN_MODE:
		ck_assert_int_eq(mkdir(dir, 0700), 0);
		ck_assert_int_eq(chmod(dir, 0750), 0);
		break;
	case PLAIN_FILE:
		close(open(dir, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		break;
	}
	ck_assert_int_eq(local_reporter_open(&reporter, &config), defaults[_i].err);
	if (defaults[_i].err) {
		ck_assert_int_eq(count_log(defaults[_i].word), 1);
		return;
	}
	ck_assert_int_eq(stat(dir, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0700);
	deliver(5000);
	expect("prog_42_1970-01-01T00-00-05Z.jfr", "23478");
}
END_TEST

/* The process changes its user: see also system/drops_root.sh. */
START_TEST(another_user_has_another_directory)
{
	char tmpdir[sizeof(base) + 16], own[PATH_MAX];
	char *const environment[] = { tmpdir, NULL };
	struct report report = a_report(5000);
	bool possible;

	if (geteuid())
		return;
	snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", base);
	snprintf(own, sizeof(own), "%s/asprof-agent-12345", base);
	ck_assert_int_eq(place_capture(&config, environment), 0);
	ck_assert_int_eq(chmod(base, 01777), 0);
	/* (The agent, too, has the log open when its user changes.) */
	log_open_fd(LOG_DEBUG, open(logfile, O_WRONLY | O_APPEND));
	possible = _i == 0;
	if (!possible)
		ck_assert_int_eq(mkdir(own, 0700), 0); /* another user's */
	open_it();
	ck_assert_int_eq(seteuid(12345), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(reporter->deliver(reporter, &report), possible ? 0 : -EACCES);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(count_log("user 12345 cannot write in"), possible);
	ck_assert_int_eq(count_log("cannot keep profiles in"), !possible);
	ck_assert_int_eq(count_log("cannot write a profile in"), !possible);
	strcpy(dir, own);
	ck_assert_int_eq(count_files(), possible ? 3 : 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("local");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, writes_parts_under_free_names);
	tcase_add_test(tcase, relative_directory_outlives_chdir);
	tcase_add_test(tcase, removed_directory_comes_back);
	tcase_add_test(tcase, oldest_go_first);
	tcase_add_test(tcase, many_go_at_once);
	tcase_add_test(tcase, newest_stays_however_large);
	tcase_add_test(tcase, zero_keeps_all);
	tcase_add_test(tcase, aged_ones_go);
	tcase_add_test(tcase, stale_temporaries_go);
	tcase_add_test(tcase, processes_share);
	tcase_add_test(tcase, full_disk_leaves_nothing);
	tcase_add_test(tcase, failure_is_said_once);
	tcase_add_test(tcase, not_a_directory_is_refused);
	tcase_add_loop_test(tcase, another_user_has_another_directory, 0, 2);
	tcase_add_loop_test(tcase, default_directory, 0, sizeof(defaults) / sizeof(defaults[0]));
	return suite_run(tcase);
}
