/* core/start_environment: the environment of the start, of any size. */
#include "core/start_environment.h"

#include <stdlib.h>
#include <string.h>

#include "test/fixtures/suite.h"

static const size_t sizes[] = { 0, 10, 16300, 20000, 200000 };

/* A copy of ENTRY, which the program then overwrites. */
START_TEST(copy_holds)
{
	char *large = malloc(sizes[_i] + sizeof("LARGE=")), first[] = "A=1", none[] = "",
	     other[] = "AB=2";
	char *const environment[] = { first, none, large, other, NULL };

	memset(large, 'x', sizes[_i] + strlen("LARGE="));
	memcpy(large, "LARGE=", strlen("LARGE="));
	large[sizes[_i] + strlen("LARGE=")] = '\0';
	ck_assert_int_eq(start_environment_capture(environment), 0);
	memset(first, '#', strlen(first));
	memset(large, '#', strlen(large));
	memset(other, '#', strlen(other));

	ck_assert_str_eq(start_environment_get("A"), "1");
	ck_assert_str_eq(start_environment_get("AB"), "2");
	ck_assert_uint_eq(strspn(start_environment_get("LARGE"), "x"), sizes[_i]);
	ck_assert_ptr_null(start_environment_get("B"));
	ck_assert_str_eq(start_environment(), "A=1");
	free(large);
}
END_TEST

START_TEST(nothing_is_there)
{
	ck_assert_str_eq(start_environment(), "");
	ck_assert_ptr_null(start_environment_get("A"));
	ck_assert_int_eq(start_environment_capture(NULL), 0);
	ck_assert_str_eq(start_environment(), "");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("start_environment");

	tcase_add_loop_test(tcase, copy_holds, 0, (int)(sizeof(sizes) / sizeof(*sizes)));
	tcase_add_test(tcase, nothing_is_there);
	return suite_run(tcase);
}
