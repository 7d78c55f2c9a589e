/* The remaining time of a restarted wait. */
#include "preload/interpose/wait.h"

#include "test/fixtures/suite.h"

static int64_t now = 1;

int64_t wait_clock_ns(clockid_t clock)
{
	ck_assert_int_eq(clock, CLOCK_MONOTONIC);
	return now;
}

static const struct {
	struct timespec timeout;
	int64_t elapsed_ns;
	struct timespec left;
} lefts[] = {
	{ { 5, 0 }, 0, { 5, 0 } },
	{ { 5, 0 }, 1, { 4, 999999999 } },
	{ { 5, 100 }, 2000000100, { 3, 0 } },
	{ { 5, 0 }, 5000000000, { 0, 0 } },
	{ { 5, 0 }, 5000000001, { 0, 0 } },
	{ { INT64_MAX, 999999999 }, 1000000000, { INT64_MAX - 1, 999999999 } },
};

START_TEST(elapsed_time_is_subtracted)
{
	struct timespec left;

	ck_assert_ptr_eq(wait_left_after(lefts[_i].elapsed_ns, &lefts[_i].timeout, &left), &left);
	ck_assert_int_eq(left.tv_sec, lefts[_i].left.tv_sec);
	ck_assert_int_eq(left.tv_nsec, lefts[_i].left.tv_nsec);
}
END_TEST

START_TEST(unlimited_wait_is_given_again)
{
	struct timespec forever = { 0, -1 }, left;
	struct timeval val = { 0, -1 }, left_val;

	ck_assert_int_eq(wait_start(false), 0);
	ck_assert_ptr_null(wait_left(0, NULL, &left));
	ck_assert_ptr_eq(wait_left(0, &forever, &left), &forever);
	ck_assert_ptr_eq(wait_left_val(0, &val, &left_val), &val);
	ck_assert_int_eq(wait_left_ms(0, -1), -1);
	ck_assert_int_eq(wait_left_ms(0, 0), 0);
}
END_TEST

START_TEST(nothing_is_left_after_the_end)
{
	struct timespec timeout = { 1, 0 }, left;
	struct timeval val = { 1, 0 }, left_val;

	now = 2000000000;
	ck_assert_ptr_eq(wait_left(1, &timeout, &left), &left);
	ck_assert(!left.tv_sec && !left.tv_nsec);
	ck_assert_ptr_eq(wait_left_val(1, &val, &left_val), &left_val);
	ck_assert(!left_val.tv_sec && !left_val.tv_usec);
	ck_assert_int_eq(wait_left_ms(1, 500), 0);
}
END_TEST

/* A wait must not end early. */
START_TEST(coarser_units_are_rounded_up)
{
	struct timeval val = { 3, 0 }, left;

	now = 1000;
	ck_assert_int_eq(wait_left_ms(999, 500), 500);
	ck_assert_int_eq(wait_left_ms(1, 1), 1);
	ck_assert_ptr_eq(wait_left_val(999, &val, &left), &left);
	ck_assert(left.tv_sec == 3 && !left.tv_usec);
	now = 1500001;
	ck_assert_ptr_eq(wait_left_val(1, &val, &left), &left);
	ck_assert(left.tv_sec == 2 && left.tv_usec == 998500);
	ck_assert_int_eq(wait_left_ms(1, 3), 2);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("wait");

	tcase_add_loop_test(cases, elapsed_time_is_subtracted, 0, sizeof(lefts) / sizeof(*lefts));
	tcase_add_test(cases, unlimited_wait_is_given_again);
	tcase_add_test(cases, nothing_is_left_after_the_end);
	tcase_add_test(cases, coarser_units_are_rounded_up);
	return suite_run(cases);
}
