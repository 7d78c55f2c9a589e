/* core/buf: grows to its cap and not beyond, and a failure changes nothing. */
#include "core/buf.h"

#include <errno.h>
#include <string.h>

#include "test/fixtures/suite.h"

START_TEST(appends)
{
	struct buf buf = BUF_INIT(1000);

	ck_assert_ptr_null(buf.data);
	ck_assert_int_eq(buf_append(&buf, "ab\0c", 4), 0);
	ck_assert_int_eq(buf_append_string(&buf, "def"), 0);
	ck_assert_int_eq(buf_printf(&buf, "%d-%s", 42, "x"), 0);
	ck_assert_uint_eq(buf.length, 11);
	ck_assert_mem_eq(buf.data, "ab\0cdef42-x", 11);
	ck_assert_ptr_eq(buf_string(&buf), buf.data);
	ck_assert_uint_eq(buf.data[11], 0);
	ck_assert_uint_eq(buf.length, 11);
	buf_free(&buf);
	ck_assert_ptr_null(buf.data);
	ck_assert_int_eq(buf_append_string(&buf, "again"), 0);
	ck_assert_str_eq(buf_string(&buf), "again");
	buf_free(&buf);
}
END_TEST

START_TEST(keeps_its_cap)
{
	struct buf buf = BUF_INIT(100);

	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(buf_append(&buf, "x", 1), 0);
	ck_assert_uint_le(buf.capacity, 100);
	ck_assert_int_eq(buf_append(&buf, "y", 1), -EFBIG);
	ck_assert_int_eq(buf_printf(&buf, "y"), -EFBIG);
	ck_assert_ptr_null(buf_string(&buf));
	ck_assert_int_eq(buf_reserve(&buf, SIZE_MAX), -EFBIG);
	ck_assert_uint_eq(buf.length, 100);
	ck_assert_uint_eq(buf.data[99], 'x');
	ck_assert_int_eq(buf_append(&buf, "", 0), 0);
	buf_free(&buf);
}
END_TEST

START_TEST(remembers_its_first_error)
{
	struct buf buf = BUF_INIT(100);

	ck_assert_int_eq(buf_append_string(&buf, "abc"), 0);
	ck_assert_int_eq(buf.err, 0);
	ck_assert_int_eq(buf_printf(&buf, "%100d", 1), -EFBIG);
	ck_assert_int_eq(buf_append_string(&buf, "def"), 0);
	ck_assert_int_eq(buf.err, -EFBIG);
	buf_reset(&buf);
	ck_assert_int_eq(buf.err, 0);
	ck_assert_int_eq(buf_reserve(&buf, 101), -EFBIG);
	ck_assert_int_eq(buf.err, -EFBIG);
	buf_free(&buf);
	ck_assert_int_eq(buf.err, 0);
	buf.max = 0;
	ck_assert_ptr_null(buf_string(&buf));
	ck_assert_int_eq(buf.err, -EFBIG);
	buf_free(&buf);
}
END_TEST

START_TEST(forgets_and_keeps_its_memory)
{
	struct buf buf = BUF_INIT(100);
	const uint8_t *data;

	ck_assert_int_eq(buf_append_string(&buf, "something"), 0);
	data = buf.data;
	buf_reset(&buf);
	ck_assert_uint_eq(buf.length, 0);
	ck_assert_int_eq(buf_append_string(&buf, "new"), 0);
	ck_assert_ptr_eq(buf.data, data);
	ck_assert_str_eq(buf_string(&buf), "new");
	buf_free(&buf);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, appends);
	tcase_add_test(tests, keeps_its_cap);
	tcase_add_test(tests, remembers_its_first_error);
	tcase_add_test(tests, forgets_and_keeps_its_memory);
	return suite_run(tests);
}
