/* decoder/libraries: the library of a recording that contains an address. */
#include "profile/aggregate/libraries.h"

#include <stdlib.h>

#include "test/fixtures/suite.h"

static struct libraries libraries;

static void add(const char *path, const char *build_id, uint64_t link_address)
{
	struct library one = { .path = intern_string(&libraries.names, path),
			       .base = 0x7f0000000000 + libraries.list.count * 0x100000,
			       .link_address = link_address };

	one.top = one.base + 0x1000;
	if (*build_id)
		one.build_id = intern_string(&libraries.names, build_id);
	intern(&libraries.list, &one, sizeof(one));
}

static void setup(void)
{
	add("/usr/lib/liba.so", "aa", 0x1000);
	add("/opt/liba.so", "bb", 0x9000);
	add("/usr/lib/libtwo.so", "c1", 0x1000);
	add("/opt/libtwo.so", "c2", 0x1000);
	add("/usr/lib/libagain.so", "dd", 0x1000);
	add("/usr/lib/libagain.so", "dd", 0x1000);
	add("/usr/lib/libnone.so", "", 0);
	add("[vdso]", "ee", 0);
}

static void teardown(void)
{
	libraries_free(&libraries);
	libraries = (struct libraries){ 0 };
}

static const struct {
	const char *name;
	uint64_t address;
	const char *build_id; /* NULL: none is found */
} cases[] = {
	{ "liba.so", 0x1000, "aa" },
	{ "liba.so", 0x1fff, "aa" },
	{ "liba.so", 0x9800, "bb" }, /* the one that has code there */
	{ "liba.so", 0x2000, NULL },
	{ "liba.so", 0xfff, NULL },
	{ "liba.so", UINT64_MAX, NULL },
	{ "libtwo.so", 0x1800, NULL },   /* ambiguous */
	{ "libagain.so", 0x1800, "dd" }, /* loaded twice */
	{ "libnone.so", 0x800, NULL },   /* has no build id */
	{ "a.so", 0x1800, NULL },        /* a part of a name */
	{ "/usr/lib/liba.so", 0x1800, "aa" },
	{ "", 0x1800, NULL },
	{ "vdso", 0x800, NULL },
};

START_TEST(at)
{
	const struct library *found = libraries_at(&libraries, cases[_i].name, cases[_i].address);

	ck_assert_int_eq(!found, !cases[_i].build_id);
	if (found)
		ck_assert_str_eq(intern_text(&libraries.names, found->build_id),
				 cases[_i].build_id);
}
END_TEST

START_TEST(find)
{
	ck_assert_ptr_eq(libraries_find(&libraries, "liba.so", ""), intern_key(&libraries.list, 1));
	ck_assert_ptr_eq(libraries_find(&libraries, "liba.so", "bb"),
			 intern_key(&libraries.list, 2));
	ck_assert_ptr_null(libraries_find(&libraries, "liba.so", "cc"));
	ck_assert_ptr_nonnull(libraries_find(&libraries, "libnone.so", ""));
	ck_assert_ptr_null(libraries_find(&libraries, "libnone.so", "aa"));
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, at, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(tests, find);
	return suite_run(tests);
}
