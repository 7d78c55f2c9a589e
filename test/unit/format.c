/* core/format: the same text as the C library's, for all forms that the project uses. */
#include "core/format.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "test/fixtures/suite.h"

static char ours[128], theirs[128];

#define AS_PRINTF(...)                                                        \
	do {                                                                  \
		size_t length = format_text(ours, sizeof(ours), __VA_ARGS__); \
		int wanted = snprintf(theirs, sizeof(theirs), __VA_ARGS__);   \
                                                                              \
		ck_assert_str_eq(ours, theirs);                               \
		ck_assert_uint_eq(length, strlen(theirs));                    \
		ck_assert_int_ge(wanted, 0);                                  \
	} while (0)

START_TEST(text)
{
	AS_PRINTF("%s", "");
	AS_PRINTF("plain, 100%%");
	AS_PRINTF("%s and %s", "one", "two");
	AS_PRINTF("[%.3s]", "cut short");
	AS_PRINTF("[%.3s]", "ab");
	AS_PRINTF("[%.*s]", 4, "cut short");
	AS_PRINTF("[%.*s]", -1, "whole");
	AS_PRINTF("[%.0s]", "nothing");
	AS_PRINTF("%c%c", 'a', 'z');
}
END_TEST

/* Without a NUL after them. */
START_TEST(bytes_beyond_the_precision_are_not_read)
{
	const char bytes[3] = { 'a', 'b', 'c' };

	ck_assert_uint_eq(format_text(ours, sizeof(ours), "%.3s", bytes), 3);
	ck_assert_str_eq(ours, "abc");
}
END_TEST

START_TEST(numbers)
{
	AS_PRINTF("%d %d %d %i", 0, INT_MAX, INT_MIN, -1);
	AS_PRINTF("%u %x", UINT_MAX, 0xdeadbeefu);
	AS_PRINTF("%ld %lu %lx", LONG_MIN, ULONG_MAX, 0x7ffe00001234ul);
	AS_PRINTF("%lld %llu", LLONG_MIN, ULLONG_MAX);
	AS_PRINTF("%zu %zd %jd %ju", SIZE_MAX, (ssize_t)-5, INTMAX_MIN, UINTMAX_MAX);
	AS_PRINTF("%p", (void *)0x1234);
	/* The following arguments are still read correctly. */
	AS_PRINTF("%llu %d %s", 1ull << 40, -3, "end");
}
END_TEST

START_TEST(widths)
{
	AS_PRINTF("[%5d] [%5d] [%05d] [%05d]", 42, -42, 42, -42);
	AS_PRINTF("[%02u] [%02u] [%016lx]", 7u, 123u, 0xabcul);
	AS_PRINTF("[%8zu]", (size_t)99);
}
END_TEST

START_TEST(what_does_not_fit_is_cut)
{
	char small[8];

	for (size_t size = 1; size <= sizeof(small); size++) {
		memset(small, '#', sizeof(small));
		ck_assert_uint_eq(format_text(small, size, "%s-%d-%s", "ab", 1234, "cd"), size - 1);
		ck_assert(!strncmp(small, "ab-1234-cd", size - 1));
		ck_assert_int_eq(small[size - 1], '\0');
		for (size_t i = size; i < sizeof(small); i++)
			ck_assert_int_eq(small[i], '#');
	}
}
END_TEST

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
START_TEST(what_is_wrong_does_no_harm)
{
	const char *volatile none = NULL;

	ck_assert_uint_eq(format_text(ours, sizeof(ours), "half of one %"), 12);
	ck_assert_uint_eq(format_text(ours, sizeof(ours), "%s", none), 6);
	ck_assert_str_eq(ours, "(null)");
}
END_TEST
#pragma GCC diagnostic pop

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, text);
	tcase_add_test(tests, bytes_beyond_the_precision_are_not_read);
	tcase_add_test(tests, numbers);
	tcase_add_test(tests, widths);
	tcase_add_test(tests, what_does_not_fit_is_cut);
	tcase_add_test(tests, what_is_wrong_does_no_harm);
	return suite_run(tests);
}
