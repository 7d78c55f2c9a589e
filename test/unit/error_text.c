/* core/error_text: the C library's texts, for all errors that have one here. */
#include "core/error_text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "test/fixtures/suite.h"

START_TEST(as_the_c_library)
{
	int known = 0;

	for (int err = 0; err < 200; err++) {
		if (!strcmp(error_text(err), "Unknown error"))
			continue;
		ck_assert_str_eq(error_text(err), strerror(err));
		known++;
	}
	ck_assert_int_gt(known, 20);
	ck_assert_str_ne(error_text(ENOENT), "Unknown error");
}
END_TEST

START_TEST(no_error)
{
	ck_assert_str_eq(error_text(INT_MIN), "Unknown error");
	ck_assert_str_eq(error_text(-1), "Unknown error");
	ck_assert_str_eq(error_text(INT_MAX), "Unknown error");
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, as_the_c_library);
	tcase_add_test(tests, no_error);
	return suite_run(tests);
}
