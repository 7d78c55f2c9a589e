/* core/agent/cost_counters: what the kernel's part of a sample costs. */
#include "core/agent/cost_counters.h"

#include "test/fixtures/suite.h"

#define SIGNALS 1000

/* The timers of the other kinds are set by the agent's thread, whose CPU time is counted. */
START_TEST(cpu_samples_need_a_signal_and_a_timer)
{
	struct cost costs[COST_KINDS];

	for (int i = 0; i < SIGNALS; i++) {
		cost_add_signal(COST_CPU);
		cost_add_signal(COST_WALL);
	}
	cost_counters_read(costs);
	ck_assert_uint_gt(cost_signal_ns(), 0);
	ck_assert_uint_gt(cost_timer_ns(), 0);
	ck_assert_uint_eq(costs[COST_CPU].ns, SIGNALS * (cost_signal_ns() + cost_timer_ns()));
	ck_assert_uint_eq(costs[COST_WALL].ns, SIGNALS * cost_signal_ns());
	ck_assert_uint_eq(costs[COST_CPU].agent_ns, 0);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, cpu_samples_need_a_signal_and_a_timer);
	return suite_run(tests);
}
