/* core/agent/budget: intervals that keep the cost of sampling below a share of the program's CPU time. A simulated
 * program and its sampling are measured twice a second; nothing here depends on time. */
#include "core/agent/budget.h"

#include "core/units.h"
#include "test/fixtures/suite.h"

#define WINDOW MS(500)

/* A simulated program. */
struct load {
	double program;      /* processors */
	double sample_ns;    /* cost of a CPU sample */
	double threads;      /* number that each wall-clock interval samples */
	double wall_ns;      /* cost of such a sample */
	double bytes_second; /* allocated by it */
	double alloc_ns;     /* cost of an allocation sample */
	double fixed;        /* processors that the agent's threads use */
};

struct run {
	struct budget budget;
	uint64_t now_ns;
	unsigned changes;
	double cost_ns, program_ns; /* of the last simulate() */
};

static void run_start(struct run *run, uint64_t permil, uint64_t cpu, uint64_t wall, uint64_t mem)
{
	*run = (struct run){ .now_ns = SECONDS(100) };
	budget_set_share(&run->budget, permil);
	budget_want(&run->budget, COST_CPU, cpu);
	budget_want(&run->budget, COST_WALL, wall);
	budget_want(&run->budget, COST_MEMORY, mem);
}

static double every(double rate, uint64_t interval)
{
	return interval == BUDGET_OFF ? 0 : rate / (double)interval;
}

static void simulate(struct run *run, const struct load *load, double seconds)
{
	const struct budget_kind *kinds = run->budget.kinds;

	run->cost_ns = run->program_ns = 0;
	for (double at = 0; at < seconds; at += 0.5) {
		double cpu = every(load->program * WINDOW, kinds[COST_CPU].effective),
		       wall = every(load->threads * WINDOW, kinds[COST_WALL].effective),
		       mem = every(load->bytes_second * 0.5, kinds[COST_MEMORY].effective);
		struct budget_window window = {
			.elapsed_ns = WINDOW,
			.program_ns = (uint64_t)(load->program * WINDOW),
			.fixed_ns = (uint64_t)(load->fixed * WINDOW),
			.kinds = { [COST_CPU] = { (uint64_t)cpu, (uint64_t)(cpu * load->sample_ns),
						  0 },
				   [COST_WALL] = { (uint64_t)wall, (uint64_t)(wall * load->wall_ns),
						   0 },
				   [COST_MEMORY] = { (uint64_t)mem,
						     (uint64_t)(mem * load->alloc_ns), 0 } },
		};

		for (unsigned i = 0; i < BUDGET_KINDS; i++)
			run->cost_ns += (double)window.kinds[i].ns;
		run->program_ns += (double)window.program_ns;
		run->now_ns += WINDOW;
		budget_measure(&run->budget, &window);
		run->changes += budget_plan(&run->budget, run->now_ns);
	}
}

static bool is_near(uint64_t value, double expected)
{
	return (double)value > expected * 0.7 && (double)value < expected * 1.45;
}

/* An expected interval of 0: the wanted one. */
static const struct {
	const char *name;
	struct load load;
	uint64_t cpu, wall, mem;
	double cpu_is, wall_is, mem_is;
} steady[] = {
	{ "defaults, busy service",
	  { .program = 1.5, .sample_ns = 12000, .threads = 50, .wall_ns = 12000, .fixed = 0.001 },
	  MS(100),
	  SECONDS(1),
	  BUDGET_OFF,
	  0,
	  0,
	  0 },
	{ "defaults, idle service",
	  { .program = 0.01, .sample_ns = 30000, .threads = 30, .wall_ns = 15000, .fixed = 0.002 },
	  MS(100),
	  SECONDS(1),
	  BUDGET_OFF,
	  0,
	  0,
	  0 },
	{ "defaults, service with 40 threads that mostly wait",
	  { .program = 0.06, .sample_ns = 30000, .threads = 40, .wall_ns = 61000, .fixed = 0.002 },
	  MS(100),
	  SECONDS(1),
	  BUDGET_OFF,
	  0,
	  0,
	  0 },
	{ "run's default, Python",
	  { .program = 1, .sample_ns = 30000, .fixed = 0.001 },
	  MS(10),
	  BUDGET_OFF,
	  BUDGET_OFF,
	  0,
	  0,
	  0 },
	{ "1 ms, Python",
	  { .program = 1, .sample_ns = 30000 },
	  MS(1),
	  BUDGET_OFF,
	  BUDGET_OFF,
	  3.75e6,
	  0,
	  0 },
	{ "1 ms, Python, the agent's threads use more than half",
	  { .program = 1, .sample_ns = 30000, .fixed = 0.02 },
	  MS(1),
	  BUDGET_OFF,
	  BUDGET_OFF,
	  7.5e6,
	  0,
	  0 },
	{ "1 ms, idle program",
	  { .program = 0.02, .sample_ns = 30000 },
	  MS(1),
	  BUDGET_OFF,
	  BUDGET_OFF,
	  0,
	  0,
	  0 },
	{ "10,000 threads, wall clock every 100 ms, idle",
	  { .program = 0.05, .sample_ns = 10000, .threads = 10000, .wall_ns = 500 },
	  MS(100),
	  MS(100),
	  BUDGET_OFF,
	  0,
	  SECONDS(1),
	  0 },
	{ "100,000 threads, idle",
	  { .program = 0.05, .sample_ns = 10000, .threads = 100000, .wall_ns = 500 },
	  MS(100),
	  SECONDS(1),
	  BUDGET_OFF,
	  0,
	  SECONDS(10),
	  0 },
	{ "10 GiB a second of allocations",
	  { .program = 2, .sample_ns = 10000, .bytes_second = 10e9, .alloc_ns = 5000 },
	  MS(10),
	  BUDGET_OFF,
	  KIB(512),
	  0,
	  0,
	  2.8e6 },
	{ "the most expensive kind first",
	  { .program = 1, .sample_ns = 20000, .threads = 100, .wall_ns = 10000 },
	  MS(10),
	  MS(10),
	  BUDGET_OFF,
	  0,
	  MS(125),
	  0 },
	{ "two expensive kinds get the same",
	  { .program = 1, .sample_ns = 50000, .threads = 100, .wall_ns = 10000 },
	  MS(1),
	  MS(10),
	  BUDGET_OFF,
	  12.5e6,
	  MS(250),
	  0 },
};

START_TEST(steady_load)
{
	struct run run;
	uint64_t wanted[BUDGET_KINDS] = { steady[_i].cpu, steady[_i].wall, steady[_i].mem };
	double is[BUDGET_KINDS] = { steady[_i].cpu_is, steady[_i].wall_is, steady[_i].mem_is };

	run_start(&run, 10, wanted[0], wanted[1], wanted[2]);
	simulate(&run, &steady[_i].load, 60);
	for (unsigned i = 0; i < BUDGET_KINDS; i++) {
		uint64_t effective = run.budget.kinds[i].effective;

		ck_assert_msg(is[i] > 0 ? is_near(effective, is[i]) : effective == wanted[i],
			      "%s: %s: %llu", steady[_i].name, cost_names[i],
			      (unsigned long long)effective);
	}
	ck_assert_msg(run.changes <= 6, "%s: %u changes", steady[_i].name, run.changes);
	run.changes = 0;
	simulate(&run, &steady[_i].load, 600);
	ck_assert_msg(!run.changes, "%s: %u changes later", steady[_i].name, run.changes);
	/* Samples cost up to a quarter more than is measured. (0.5% of a processor at the default intervals.) */
	ck_assert_msg(run.cost_ns <= run.program_ns * 0.0081 || run.cost_ns <= 600e9 * 0.00505,
		      "%s: cost %f%%", steady[_i].name, 100 * run.cost_ns / run.program_ns);
}
END_TEST

/* The first window over budget is followed by one within it. */
START_TEST(reacts_at_once)
{
	struct load busy = { .program = 1, .sample_ns = 60000 };
	struct run run;

	run_start(&run, 10, MS(1), BUDGET_OFF, BUDGET_OFF);
	simulate(&run, &busy, 0.5);
	simulate(&run, &busy, 0.5);
	ck_assert_double_le(run.cost_ns, run.program_ns * 0.0081);
}
END_TEST

/* Idle for 20 s, busy for 2 s, and so on: the bursts are within the budget, and have the same interval. */
START_TEST(bursts)
{
	struct load idle = { .program = 0.005, .sample_ns = 40000 },
		    busy = { .program = 1, .sample_ns = 40000 };
	uint64_t interval;
	struct run run;

	run_start(&run, 10, MS(1), BUDGET_OFF, BUDGET_OFF);
	simulate(&run, &idle, 60);
	ck_assert_uint_eq(run.budget.kinds[COST_CPU].effective, MS(1));
	simulate(&run, &busy, 2);
	interval = run.budget.kinds[COST_CPU].effective;
	ck_assert(is_near(interval, MS(5)));
	run.changes = 0;
	for (int i = 0; i < 20; i++) {
		simulate(&run, &idle, 20);
		simulate(&run, &busy, 2);
		ck_assert_double_le(run.cost_ns, run.program_ns * 0.0105);
		ck_assert(is_near(run.budget.kinds[COST_CPU].effective, (double)interval));
	}
	ck_assert_uint_le(run.changes, 2);
}
END_TEST

/* Costs that vary by a fifth change no interval. */
START_TEST(noise)
{
	struct load load = { .program = 1, .threads = 300 };
	struct run run;

	run_start(&run, 10, MS(1), MS(10), BUDGET_OFF);
	for (int i = 0; i < 600; i++) {
		double factor = 0.8 + (i * 7 % 10) * 0.04;

		load.sample_ns = 20000 * factor;
		load.wall_ns = 10000 * (1.8 - factor);
		if (i == 60)
			run.changes = 0;
		simulate(&run, &load, 0.5);
	}
	ck_assert_uint_le(run.changes, 3);
}
END_TEST

START_TEST(returns_to_the_settings)
{
	struct load heavy = { .program = 1, .threads = 1000, .wall_ns = 10000 },
		    light = { .program = 1, .threads = 10, .wall_ns = 10000 };
	struct run run;

	run_start(&run, 10, BUDGET_OFF, MS(100), BUDGET_OFF);
	simulate(&run, &heavy, 30);
	ck_assert(is_near(run.budget.kinds[COST_WALL].effective, SECONDS(1)));
	simulate(&run, &light, 120);
	ck_assert_uint_eq(run.budget.kinds[COST_WALL].effective, MS(100));
}
END_TEST

/* A capture asks for a shorter interval, and ends: each is limited by the costs so far. */
/* An idle service: the floor of 0.1% of a processor permits the wanted interval, but not one that is a fifth shorter. */
START_TEST(returns_if_the_settings_just_fit)
{
	struct load load = { .program = 0.001, .threads = 10, .wall_ns = 13000 };
	struct run run;

	run_start(&run, 10, BUDGET_OFF, MS(100), BUDGET_OFF);
	simulate(&run, &load, 60);
	ck_assert_uint_gt(run.budget.kinds[COST_WALL].effective, MS(130));
	load.wall_ns = 9500;
	simulate(&run, &load, 120);
	ck_assert_uint_eq(run.budget.kinds[COST_WALL].effective, MS(100));
	ck_assert_uint_le(run.changes, 3);
}
END_TEST

START_TEST(other_wishes)
{
	struct load load = { .program = 1, .sample_ns = 50000 };
	struct run run;

	run_start(&run, 10, MS(10), BUDGET_OFF, BUDGET_OFF);
	simulate(&run, &load, 10);
	ck_assert_uint_eq(run.budget.kinds[COST_CPU].effective, MS(10));
	budget_want(&run.budget, COST_CPU, MS(1));
	ck_assert(is_near(run.budget.kinds[COST_CPU].effective, 6.25e6));
	budget_want(&run.budget, COST_CPU, MS(10));
	ck_assert_uint_eq(run.budget.kinds[COST_CPU].effective, MS(10));
	budget_want(&run.budget, COST_CPU, BUDGET_OFF);
	ck_assert_uint_eq(run.budget.kinds[COST_CPU].effective, BUDGET_OFF);
}
END_TEST

START_TEST(no_budget)
{
	struct load load = { .program = 1, .sample_ns = 500000 };
	struct run run;

	run_start(&run, BUDGET_OFF, MS(1), BUDGET_OFF, BUDGET_OFF);
	simulate(&run, &load, 30);
	ck_assert_uint_eq(run.changes, 0);
	ck_assert_double_eq_tol(budget_cost(&run.budget, COST_CPU, MS(1)), 0.5, 0.05);
	budget_set_share(&run.budget, 10);
	simulate(&run, &load, 1);
	ck_assert_uint_gt(run.budget.kinds[COST_CPU].effective, MS(40));
	budget_set_share(&run.budget, BUDGET_OFF);
	simulate(&run, &load, 1);
	ck_assert_uint_eq(run.budget.kinds[COST_CPU].effective, MS(1));
}
END_TEST

/* Every allocation is sampled at first. */
START_TEST(every_allocation)
{
	struct budget_window window = { .elapsed_ns = WINDOW, .program_ns = WINDOW };
	struct run run;

	run_start(&run, 10, BUDGET_OFF, BUDGET_OFF, 0);
	window.kinds[COST_MEMORY] = (struct cost){ 100000, WINDOW / 2, 0 };
	budget_measure(&run.budget, &window);
	ck_assert(budget_plan(&run.budget, run.now_ns));
	ck_assert_uint_gt(run.budget.kinds[COST_MEMORY].effective, 1000);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("budget");

	tcase_add_loop_test(tcase, steady_load, 0, sizeof(steady) / sizeof(*steady));
	tcase_add_test(tcase, reacts_at_once);
	tcase_add_test(tcase, bursts);
	tcase_add_test(tcase, noise);
	tcase_add_test(tcase, returns_to_the_settings);
	tcase_add_test(tcase, returns_if_the_settings_just_fit);
	tcase_add_test(tcase, other_wishes);
	tcase_add_test(tcase, no_budget);
	tcase_add_test(tcase, every_allocation);
	return suite_run(tcase);
}
