/* What is left of a wait that is made again. */
#include "preload/interpose/wait.h"

#include <stdbool.h>

#include "test/fixtures/suite.h"

static const struct {
	struct timespec timeout;
	bool measured;
} lefts[] = {
	{ { 0, 0 }, false },         { { 0, 1 }, true },          { { 5, 999999999 }, true },
	{ { -1, 0 }, false },        { { 0, -1 }, false },        { { 0, 1000000000 }, false },
	{ { INT64_MAX, 0 }, false }, { { 1000000000, 0 }, true },
};

START_TEST(elapsed_time_is_subtracted)
{
	uint64_t before = clock_monotonic_ns();
	uint64_t end = wait_start(&lefts[_i].timeout);

	ck_assert_int_eq(end != 0, lefts[_i].measured);
	if (end)
		ck_assert_uint_ge(end, before + (uint64_t)lefts[_i].timeout.tv_sec * 1000000000 +
					       (uint64_t)lefts[_i].timeout.tv_nsec);
}
END_TEST

START_TEST(unlimited_wait_is_given_again)
{
	struct timespec bad = { 0, -1 }, left;

	ck_assert_ptr_null(wait_left(wait_start(NULL), NULL, &left));
	ck_assert_ptr_eq(wait_left(wait_start(&bad), &bad, &left), &bad);
	ck_assert_int_eq(wait_left_ms(wait_end_ms(-1), -1), -1);
	ck_assert_int_eq(wait_left_ms(wait_end_ms(0), 0), 0);
	ck_assert_ptr_null(wait_left_in(wait_start(NULL), NULL, &left));
	ck_assert_ptr_eq(wait_left_in(wait_start(&bad), &bad, &left), &left);
	ck_assert_int_eq(left.tv_nsec, -1);
	ck_assert_ptr_null(wait_left_of_ms(wait_end_ms(-1), -1, &left));
	ck_assert_ptr_eq(wait_left_of_ms(wait_end_ms(0), 0, &left), &left);
	ck_assert(!left.tv_sec && !left.tv_nsec);
}
END_TEST

START_TEST(past_the_end_nothing_is_left)
{
	struct timespec timeout = { 1, 0 }, left;

	ck_assert_ptr_eq(wait_left(1, &timeout, &left), &left);
	ck_assert_int_eq(left.tv_sec, 0);
	ck_assert_int_eq(left.tv_nsec, 0);
	ck_assert_int_eq(wait_left_ms(1, 500), 0);
}
END_TEST

START_TEST(coarser_units_are_rounded_up)
{
	/* Far enough away that the test's own time does not matter, and never a whole number. */
	uint64_t end = clock_monotonic_ns() + 3600000ULL * 1000000;
	int left = wait_left_ms(end, 1);

	ck_assert_int_le(left, 3600000);
	ck_assert_uint_ge((uint64_t)left * 1000000, wait_left_ns(end));
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("wait");

	tcase_add_loop_test(cases, elapsed_time_is_subtracted, 0, sizeof(lefts) / sizeof(*lefts));
	tcase_add_test(cases, unlimited_wait_is_given_again);
	tcase_add_test(cases, past_the_end_nothing_is_left);
	tcase_add_test(cases, coarser_units_are_rounded_up);
	return suite_run(cases);
}
