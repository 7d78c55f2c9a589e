/* asyncprof/library_path: a library that is searched by name is not taken from the working
 * directory. */
#include "asyncprof/library_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

static char path[PATH_MAX];
static char folder[] = "/tmp/library-path-XXXXXX";

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void tear_down(void)
{
	unlink("libwanted.so");
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

static void make_wanted(void)
{
	int fd = open("libwanted.so", O_WRONLY | O_CREAT, 0755);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

/* Run this test again with LD_LIBRARY_PATH, which the loader reads only at the start. Returns the
 * result as its status. */
static int find_with(const char *directories)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char command[2 * PATH_MAX];

	ck_assert_int_gt(length, 0);
	program[length] = '\0';
	snprintf(command, sizeof(command), "LD_LIBRARY_PATH='%s' '%s' find", directories, program);
	return system(command);
}

static const char *const unsafe[] = {
	"", ":", ".", "./", ":/nowhere", "/nowhere:", "/nowhere::/no"
};

START_TEST(not_in_the_working_directory)
{
	make_wanted();
	ck_assert_int_ne(find_with(unsafe[_i]), 0);
}
END_TEST

START_TEST(in_a_directory_from_the_root)
{
	char directories[PATH_MAX];

	snprintf(directories, sizeof(directories), ":%s", folder);
	ck_assert_int_ne(find_with(directories), 0);
	make_wanted();
	ck_assert_int_eq(find_with(directories), 0);
}
END_TEST

/* An open of it would wait for ever. */
START_TEST(not_a_fifo)
{
	ck_assert_int_eq(mkfifo("libwanted.so", 0700), 0);
	ck_assert_int_ne(find_with(folder), 0);
}
END_TEST

START_TEST(where_the_loader_has_it)
{
	ck_assert(library_path_find_loaded(path, "libc.so.6"));
	ck_assert_int_eq(*path, '/');
	ck_assert_int_eq(library_path_find(path, "libc.so.6", NULL), 0);
	ck_assert_int_eq(library_path_find(path, "libBrokenLocale.so.1", NULL), 0);
	ck_assert_int_eq(*path, '/');
	ck_assert_int_eq(library_path_find(path, "libnowhere.so", NULL), -ENOENT);
	ck_assert(!library_path_find_loaded(NULL, "libnowhere.so"));
	ck_assert(library_path_is_likely("libc.so.6", NULL));
	ck_assert(library_path_is_likely("libBrokenLocale.so.1", NULL));
	ck_assert(!library_path_is_likely("libnowhere.so", NULL));
}
END_TEST

/* This program replaces the library: NAME is relative to its directory. */
static int find_own(const char *name)
{
	char program[PATH_MAX], command[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	ck_assert_int_gt(length, 0);
	program[length] = '\0';
	snprintf(command, sizeof(command), "'%s' own '%s'", program, name);
	return system(command);
}

START_TEST(own_file)
{
	ck_assert_int_eq(find_own("library_path"), 0);
	ck_assert_int_eq(find_own("../unit/library_path"), 0);
	ck_assert_int_ne(find_own("nowhere/library_path"), 0);
	ck_assert(!library_path_program_is_java());
	ck_assert(!library_path_is_likely("libnowhere.so", "library_path"));
}
END_TEST

static const struct {
	const char *linker; /* in the folder */
	const char *text;   /* of etc/ld-musl-….path there; NULL: there is none */
	const char *directories;
} of_musl[] = {
	{ "/lib/ld-musl.so", NULL, "/lib:/usr/local/lib:/usr/lib" },
	{ "/lib/ld-musl.so", "/a:/b\n/c\n", "/a:/b\n/c\n" },
	{ "/lib/ld-musl.so", "", "" },
	{ "/ld-musl.so", "/a",
	  "/lib:/usr/local/lib:/usr/lib" }, /* it is next to the folder, not in it */
};

/* A file of musl's loader has its directories. */
START_TEST(where_musl_has_it)
{
	char text[LIBRARY_PATH_MUSL_MAX], linker[PATH_MAX];
	struct utsname machine;
	FILE *file;

	uname(&machine);
	snprintf(path, sizeof(path), "etc/ld-musl-%s.path", machine.machine);
	ck_assert_int_eq(mkdir("etc", 0700), 0);
	if (of_musl[_i].text) {
		file = fopen(path, "we");
		ck_assert_ptr_nonnull(file);
		fputs(of_musl[_i].text, file);
		fclose(file);
	}
	snprintf(linker, sizeof(linker), "%s%s", folder, of_musl[_i].linker);
	ck_assert_str_eq(library_path_read_musl(text, linker), of_musl[_i].directories);
	unlink(path);
	ck_assert_int_eq(rmdir("etc"), 0);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tests;

	if (argc > 1 && !strcmp(argv[1], "find"))
		return library_path_find(path, "libwanted.so", NULL) != 0 ||
		       !library_path_is_likely("libwanted.so", NULL);
	if (argc > 2 && !strcmp(argv[1], "own"))
		return library_path_find(path, "libnowhere.so", argv[2]) != 0;
	if (getenv("TEST_RUNNER")) {
		puts("an emulated program cannot execute itself");
		return 77;
	}
	tests = tcase_create("all");
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, not_in_the_working_directory, 0,
			    sizeof(unsafe) / sizeof(*unsafe));
	tcase_add_test(tests, in_a_directory_from_the_root);
	tcase_add_test(tests, not_a_fifo);
	tcase_add_test(tests, where_the_loader_has_it);
	tcase_add_test(tests, own_file);
	tcase_add_loop_test(tests, where_musl_has_it, 0, sizeof(of_musl) / sizeof(*of_musl));
	return suite_run(tests);
}
