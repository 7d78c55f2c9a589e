/* upload/files/dir.c: directories are made, opened, and trusted only if no other user can write to
 * them. */
#include "upload/files/dir.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "test/fixtures/folder.h"
#include "test/fixtures/suite.h"

static void setup(void)
{
	folder_make();
}

static void teardown(void)
{
	folder_remove();
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

START_TEST(makes_the_parents)
{
	char path[PATH_MAX];
	int fd;

	umask(022);
	snprintf(path, sizeof(path), "%s/a/b//c/", folder);
	for (int i = 0; i < 2; i++) {
		fd = dir_make(path, 0750);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
		close(fd);
	}
	ck_assert_uint_eq(mode_of("a"), 0750);
	ck_assert_uint_eq(mode_of("a/b/c"), 0750);
	ck_assert_int_eq(unlinkat(folder_fd, "a/b/c", AT_REMOVEDIR), 0);
	ck_assert_int_eq(unlinkat(folder_fd, "a/b", AT_REMOVEDIR), 0);
}
END_TEST

START_TEST(says_why_it_cannot_make_one)
{
	char path[PATH_MAX + 10];

	folder_put("file", 1, 0);
	snprintf(path, sizeof(path), "%s/file", folder);
	ck_assert_int_eq(dir_make(path, 0700), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/file/below", folder);
	ck_assert_int_eq(dir_make(path, 0700), -ENOTDIR);
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(dir_make(path, 0700), -ENAMETOOLONG);
	ck_assert_int_eq(dir_make("/proc/none", 0700), -ENOENT);
}
END_TEST

START_TEST(private_ones_are_nobody_elses)
{
	char path[PATH_MAX];
	int fd;

	umask(0);
	fd = dir_make_private(folder, "own");
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_uint_eq(mode_of("own"), 0700);
	fd = dir_make_private(folder, "own");
	ck_assert_int_ge(fd, 0);
	close(fd);

	ck_assert_int_eq(mkdirat(folder_fd, "open", 0711), 0);
	ck_assert_int_eq(dir_make_private(folder, "open"), -EACCES);
	ck_assert_int_eq(symlinkat("own", folder_fd, "link"), 0);
	ck_assert_int_eq(dir_make_private(folder, "link"), -ELOOP);
	folder_put("file", 1, 0);
	ck_assert_int_eq(dir_make_private(folder, "file"), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/none", folder);
	ck_assert_int_eq(dir_make_private(path, "own"), -ENOENT);
	if (geteuid() == 0) {
		ck_assert_int_eq(mkdirat(folder_fd, "theirs", 0700), 0);
		ck_assert_int_eq(fchownat(folder_fd, "theirs", 12345, 12345, 0), 0);
		ck_assert_int_eq(dir_make_private(folder, "theirs"), -EPERM);
	}
}
END_TEST

START_TEST(renames_to_new_names_alone)
{
	folder_put("a", 1, 0);
	folder_put("b", 2, 0);
	ck_assert_int_eq(dir_rename_new(folder_fd, "a", "b"), -EEXIST);
	ck_assert(folder_has("a"));
	ck_assert_int_eq(symlinkat("nowhere", folder_fd, "dangling"), 0);
	ck_assert_int_eq(dir_rename_new(folder_fd, "a", "dangling"), -EEXIST);
	ck_assert_int_eq(dir_rename_new(folder_fd, "a", "c"), 0);
	ck_assert(!folder_has("a"));
	ck_assert(folder_has("c"));
	ck_assert_int_eq(dir_rename_new(folder_fd, "a", "d"), -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("dir");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, makes_the_parents);
	tcase_add_test(tcase, says_why_it_cannot_make_one);
	tcase_add_test(tcase, private_ones_are_nobody_elses);
	tcase_add_test(tcase, renames_to_new_names_alone);
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
