/* engine/sample/handler_budget: sample handlers use at most a tenth of a thread's CPU time. No
 * sample is refused for time in which its thread had no processor. */
#include "core/clock.h"
#include "core/system.h"
#include "engine/sample/handler_budget.h"
#include "test/fixtures/suite.h"

#define MS UINT64_C(1000000)

static void burn(uint64_t ns)
{
	uint64_t end = clock_cpu_ns() + ns;

	while (clock_cpu_ns() < end)
		;
}

/* A sample is always due, and takes NS. Returns how many are taken in 200 ms of CPU time. */
static unsigned sample(uint64_t ns, uint64_t *handlers_ns)
{
	uint64_t end = clock_cpu_ns() + 200 * MS, began;
	unsigned taken = 0;

	*handlers_ns = 0;
	while (clock_cpu_ns() < end) {
		began = clock_cpu_ns();
		if (!handler_budget_begin())
			continue;
		burn(ns);
		handler_budget_end();
		*handlers_ns += clock_cpu_ns() - began;
		taken++;
	}
	return taken;
}

START_TEST(a_tenth_of_cpu_time)
{
	static const uint64_t takes_ns[] = { 5000, 100000, 1 * MS };
	uint64_t handlers_ns, began_ns;
	unsigned taken;

	for (size_t i = 0; i < sizeof(takes_ns) / sizeof(*takes_ns); i++) {
		began_ns = clock_monotonic_ns();
		taken = sample(takes_ns[i], &handlers_ns);
		ck_assert_uint_gt(taken, 0);
		/* (Where other threads have the processor, a fiftieth of the elapsed time may be
		 * more.) */
		ck_assert_uint_lt(handlers_ns, 22 * MS + (clock_monotonic_ns() - began_ns) / 40);
	}
}
END_TEST

START_TEST(after_a_wait)
{
	burn(20 * MS);
	ck_assert(handler_budget_begin());
	burn(1 * MS);
	handler_budget_end();
	system_sleep(200 * MS);
	ck_assert(handler_budget_begin());
	handler_budget_end();
}
END_TEST

START_TEST(time_without_a_processor)
{
	ck_assert(handler_budget_begin());
	system_sleep(100 * MS);
	handler_budget_end();
	burn(10 * MS);
	ck_assert(handler_budget_begin());
	ck_assert(!handler_budget_is_late());
	system_sleep(2 * MS);
	ck_assert(handler_budget_is_late());
	handler_budget_end();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("handler_budget");

	tcase_add_test(tcase, a_tenth_of_cpu_time);
	tcase_add_test(tcase, after_a_wait);
	tcase_add_test(tcase, time_without_a_processor);
	return suite_run(tcase);
}
