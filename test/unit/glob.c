/* core/options/glob: the same matches as fnmatch(3), in the locale "C". */
#include "core/options/glob.h"

#include <fnmatch.h>
#include <string.h>

#include "test/fixtures/suite.h"

static const char *const globs[] = {
	"",           "*",          "**",         "?",         "a",        "a*",
	"*a",         "*a*",        "a*b*c",      "??",        "*.*",      "[ab]",
	"[a-c]",      "[!a-c]",     "[^a-c]*",    "[]a]",      "[!]a]",    "[a",
	"a[",         "[]",         "[a-]*",      "[-a]*",     "\\*",      "\\a*",
	"\\[a]",      "[\\]]",      "[\\a-\\c]?", "python*",   "*python3", "p*n*3",
	"python[23]", "python[!2]", "*-*-*",      "a*a*a*a*b", "nginx: *", "\\\\",
};

static const char *const names[] = {
	"",
	"a",
	"b",
	"d",
	"ab",
	"abc",
	"axbxc",
	"aabbcc",
	"-",
	"]",
	"[",
	"[a",
	"[a]",
	"a[",
	"*",
	"\\",
	"python",
	"python3",
	"python2",
	"ipython",
	"ipython3",
	"a.out",
	"x-y-z",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"nginx: master",
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

START_TEST(as_the_c_library)
{
	const char *glob = globs[_i];

	for (size_t i = 0; i < COUNT(names); i++)
		ck_assert_msg(glob_matches(glob, strlen(glob), names[i]) ==
				      !fnmatch(glob, names[i], 0),
			      "%s for %s", glob, names[i]);
}
END_TEST

START_TEST(nothing_beyond_its_length)
{
	ck_assert(glob_matches("ab,c", 2, "ab"));
	ck_assert(!glob_matches("a*,c", 1, "ab"));
	ck_assert(!glob_matches("[ab]", 3, "a"));
	ck_assert(glob_matches("[ab]", 3, "[ab"));
	ck_assert(glob_matches("\\*", 1, "\\"));
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, as_the_c_library, 0, COUNT(globs));
	tcase_add_test(tests, nothing_beyond_its_length);
	return suite_run(tests);
}
