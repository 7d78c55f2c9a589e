/* core/clock: the kernel's time, by each way to read it. */
#include "core/clock.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernel.h"
#include "core/vdso.h"
#include "test/fixtures/suite.h"

static uint64_t ask(clockid_t clock)
{
	struct timespec now = { 0 };

	ck_assert_int_eq(kernel_call4(SYS_clock_gettime, clock, (long)&now, 0, 0), 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

START_TEST(is_the_kernels)
{
	uint64_t before = ask(CLOCK_MONOTONIC), now = clock_monotonic_ns();

	ck_assert_uint_le(before, now);
	ck_assert_uint_le(now, ask(CLOCK_MONOTONIC));
	before = ask(CLOCK_REALTIME) / 1000000000u;
	now = clock_realtime_ns() / 1000000000u;
	ck_assert_uint_le(before, now + 1);
	ck_assert_uint_le(now, ask(CLOCK_REALTIME) / 1000000000u + 1);
}
END_TEST

START_TEST(counts_what_a_thread_takes)
{
	uint64_t before = ask(CLOCK_THREAD_CPUTIME_ID), now = clock_cpu_ns();

	ck_assert_uint_le(before, now);
	ck_assert_uint_le(now, ask(CLOCK_THREAD_CPUTIME_ID));
}
END_TEST

START_TEST(of_a_thread_and_of_none)
{
	struct timespec now;

	errno = EDOM;
	ck_assert_int_eq(clock_read(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	ck_assert_int_eq(clock_read(12345, &now), -EINVAL);
	ck_assert_int_eq(errno, EDOM);
}
END_TEST

/* An emulator may have no vDSO. */
START_TEST(needs_no_call_where_the_kernel_has_brought_one)
{
	ck_assert_ptr_null(vdso_function("no_such_function"));
#if defined(__x86_64__)
	if (getauxval(AT_SYSINFO_EHDR))
		ck_assert_ptr_nonnull(vdso_function("__vdso_clock_gettime"));
#endif
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, is_the_kernels);
	tcase_add_test(tests, counts_what_a_thread_takes);
	tcase_add_test(tests, of_a_thread_and_of_none);
	tcase_add_test(tests, needs_no_call_where_the_kernel_has_brought_one);
	return suite_run(tests);
}
