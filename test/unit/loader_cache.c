/* asyncprof/loader_cache: entries that ldconfig has written are found, and damaged data is
 * rejected. */
#include "asyncprof/loader_cache.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

#if defined(__x86_64__)
#define OURS 0x0303
#else
#define OURS 0x0a03
#endif

#define HEADER  48
#define ENTRY   24
#define STRINGS 1024
#define BYTES   4096

struct library {
	const char *soname, *path;
	uint32_t flags;
	uint64_t hardware;
};

/* In ldconfig's order: backwards, numbers as numbers, and entries for some processors first. */
static const struct library libraries[] = {
	{ "libz.so.1", "/lib/libz.so.1", OURS, 0 },
	{ "libwanted.so.11", "/lib/libwanted.so.11", OURS, 0 },
	{ "libwanted.so.9", "/lib/libwanted.so.9", OURS, 0 },
	{ "libwanted.so", "/lib/fast/libwanted.so", OURS, 2 },
	{ "libwanted.so", "/lib32/libwanted.so", 0x0803, 0 },
	{ "libwanted.so", "/lib/libwanted.so", OURS, 0 },
	{ "libonly32.so", "/lib32/libonly32.so", 0x0803, 0 },
	{ "libhere.so", "./libhere.so", OURS, 0 },
	{ "liba52-0.7.4.so", "/lib/liba52-0.7.4.so", OURS, 0 },
	{ "ld-linux.so.2", "/lib/ld-linux.so.2", OURS, 0 },
};

#define COUNT (sizeof(libraries) / sizeof(*libraries))

static int cache = -1;
static size_t length;

static uint32_t put_string(char *bytes, const char *string)
{
	size_t at = length;

	strcpy(bytes + at, string);
	length += strlen(string) + 1;
	return (uint32_t)at;
}

static void set_up(void)
{
	static char bytes[BYTES];
	uint32_t count = COUNT;

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, "glibc-ld.so.cache1.1", 20);
	memcpy(bytes + 20, &count, sizeof(count));
	length = STRINGS;
	for (size_t i = 0; i < COUNT; i++) {
		uint32_t entry[] = { libraries[i].flags, put_string(bytes, libraries[i].soname),
				     put_string(bytes, libraries[i].path), 0 };

		memcpy(bytes + HEADER + i * ENTRY, entry, sizeof(entry));
		memcpy(bytes + HEADER + i * ENTRY + sizeof(entry), &libraries[i].hardware, 8);
	}
	cache = memfd_create("cache", MFD_CLOEXEC);
	ck_assert_int_eq(pwrite(cache, bytes, length, 0), (ssize_t)length);
}

static void tear_down(void)
{
	close(cache);
}

static char path[PATH_MAX];

START_TEST(each_is_found)
{
	const struct library *l = &libraries[_i];
	int err = loader_cache_find(path, l->soname, cache);

	if (strcmp(l->soname, "libonly32.so") && strcmp(l->soname, "libhere.so")) {
		ck_assert_int_eq(err, 0);
		ck_assert_int_eq(strncmp(path, "/lib/", 5), 0);
		ck_assert_str_eq(path + 5, l->soname);
	} else {
		ck_assert_int_eq(err, -ENOENT);
	}
}
END_TEST

static const char *const absent[] = {
	"libwanted", "libwanted.so.", "libwanted.so.10", "libzz.so", "liba52-0.so", "a", "", "1"
};

START_TEST(no_other_is)
{
	ck_assert_int_eq(loader_cache_find(path, absent[_i], cache), -ENOENT);
}
END_TEST

/* Truncated anywhere, and with any claimed number of entries. */
START_TEST(a_damaged_one_is_harmless)
{
	uint32_t most = UINT32_MAX;

	for (size_t cut = length; cut-- > 0;) {
		ck_assert_int_eq(ftruncate(cache, (off_t)cut), 0);
		loader_cache_find(path, "libwanted.so", cache);
		ck_assert_int_eq(loader_cache_find(path, "ld-linux.so.2", cache), -ENOENT);
	}
	tear_down();
	set_up();
	ck_assert_int_eq(pwrite(cache, &most, sizeof(most), 20), sizeof(most));
	loader_cache_find(path, "libwanted.so", cache);
	ck_assert_int_eq(pwrite(cache, "x", 1, 0), 1);
	ck_assert_int_eq(loader_cache_find(path, "libwanted.so", cache), -ENOENT);
	ck_assert_int_eq(loader_cache_find(path, "libwanted.so", -1), -ENOENT);
}
END_TEST

/* The one of this machine. */
START_TEST(the_real_one_is_understood)
{
	FILE *real = fopen("/etc/ld.so.cache", "re");

	if (!real)
		return;
	ck_assert_int_eq(loader_cache_find(path, "libc.so.6", fileno(real)), 0);
	ck_assert_ptr_nonnull(strstr(path, "/libc.so.6"));
	ck_assert_int_eq(loader_cache_find(path, "libnowhere.so", fileno(real)), -ENOENT);
	fclose(real);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("loader_cache");

	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_add_loop_test(c, each_is_found, 0, COUNT);
	tcase_add_loop_test(c, no_other_is, 0, sizeof(absent) / sizeof(*absent));
	tcase_add_test(c, a_damaged_one_is_harmless);
	if (!getenv("TEST_RUNNER")) /* an emulated program sees that of another processor */
		tcase_add_test(c, the_real_one_is_understood);
	return suite_run(c);
}
