/* Overhead of a session: what sampling costs, and how often the budget permits it. */
#include "core/agent/overhead.h"

#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/units.h"

#define WINDOW_NS MS(500)

#define MARK_NS  SECONDS(30)
#define START_NS SECONDS(1)

/* A window ends after this time if samples have used this part of it. */
#define URGENT_NS   MS(50)
#define URGENT_PART 16

static void counters_read(struct overhead_counters *counters)
{
	unsigned count;

	counters->process_ns = clock_process_cpu_ns();
	counters->threads_ns = own_thread_cpu_ns(&count);
	cost_counters_read(counters->kinds);
}

/* A thread of the agent that has ended is missing in the second value. */
static uint64_t increase(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

static void *interval_in(struct config *config, unsigned kind)
{
	static const size_t offsets[BUDGET_KINDS] = {
		[COST_CPU] = offsetof(struct config, cpu_interval_ns),
		[COST_WALL] = offsetof(struct config, wall_interval_ns),
		[COST_MEMORY] = offsetof(struct config, native_mem_bytes),
	};

	return (char *)config + offsets[kind];
}

static uint64_t interval_get(const struct config *config, unsigned kind)
{
	uint64_t interval;

	memcpy(&interval, interval_in((struct config *)config, kind), sizeof(interval));
	return interval;
}

void overhead_resume(struct overhead *overhead, uint64_t now_ns)
{
	counters_read(&overhead->before);
	overhead->measured_ns = now_ns;
	overhead->due_ns = now_ns + WINDOW_NS;
}

void overhead_start(struct overhead *overhead, const struct config *config, uint64_t now_ns)
{
	for (unsigned i = 0; i < BUDGET_KINDS; i++)
		budget_want(&overhead->budget, i, interval_get(config, i));
	overhead_resume(overhead, now_ns);
}

static void totals_add(struct overhead *overhead, const struct budget_window *window,
		       const struct cost kinds[COST_KINDS])
{
	struct report_costs *total = &overhead->total;

	total->elapsed_ns += window->elapsed_ns;
	total->program_ns += window->program_ns;
	total->fixed_ns += window->fixed_ns;
	for (unsigned i = 0; i < COST_KINDS; i++) {
		total->kinds[i].samples += kinds[i].samples;
		total->kinds[i].ns += kinds[i].ns;
	}
	for (unsigned i = 0; i < BUDGET_KINDS; i++) {
		const struct budget_kind *kind = &overhead->budget.kinds[i];

		if (kind->wanted == BUDGET_OFF)
			continue;
		total->kinds[i].sampled_ns += window->elapsed_ns;
		total->kinds[i].kept_ns +=
			kind->effective > kind->wanted
				? (uint64_t)((double)window->elapsed_ns * (double)kind->wanted /
					     (double)kind->effective)
				: window->elapsed_ns;
	}
}

/* Set the costs of WINDOW, and KINDS, from the counters. */
static void window_fill(struct budget_window *window, struct cost kinds[COST_KINDS],
			const struct overhead_counters *before, const struct overhead_counters *now)
{
	uint64_t handlers_ns = 0, threads_ns = increase(before->threads_ns, now->threads_ns),
		 used_ns = increase(before->process_ns, now->process_ns);

	window->fixed_ns = threads_ns;
	for (unsigned i = 0; i < COST_KINDS; i++) {
		kinds[i].samples = increase(before->kinds[i].samples, now->kinds[i].samples);
		kinds[i].ns = increase(before->kinds[i].ns, now->kinds[i].ns);
		kinds[i].agent_ns = increase(before->kinds[i].agent_ns, now->kinds[i].agent_ns);
		if (i == COST_INTERPRETERS)
			continue;
		handlers_ns += kinds[i].ns - kinds[i].agent_ns;
		window->fixed_ns = increase(kinds[i].agent_ns, window->fixed_ns);
	}
	memcpy(window->kinds, kinds, sizeof(window->kinds));
	window->fixed_ns += kinds[COST_STALLS].ns + kinds[COST_LOCKS].ns;
	window->program_ns = increase(threads_ns + handlers_ns, used_ns);
}

void overhead_measure(struct overhead *overhead, uint64_t now_ns)
{
	struct budget_window window = { .elapsed_ns = now_ns - overhead->measured_ns };
	struct cost kinds[COST_KINDS];
	struct overhead_counters now;

	if (now_ns <= overhead->measured_ns)
		return;
	counters_read(&now);
	window_fill(&window, kinds, &overhead->before, &now);
	totals_add(overhead, &window, kinds);
	if (now_ns >= overhead->mark_ns + MARK_NS) {
		overhead->marks[1] = overhead->marks[0];
		overhead->marks[0] = overhead->total;
		overhead->mark_ns = now_ns;
	}
	overhead->before = now;
	overhead->measured_ns = now_ns;
	overhead->due_ns = now_ns + WINDOW_NS;
	/* The work at the start is done once. */
	if (overhead->total.elapsed_ns < START_NS)
		window.fixed_ns = 0;
	budget_measure(&overhead->budget, &window);
}

bool overhead_is_due(const struct overhead *overhead, uint64_t now_ns)
{
	struct cost kinds[COST_KINDS];
	uint64_t used_ns = 0;

	if (now_ns >= overhead->due_ns || now_ns < overhead->measured_ns + URGENT_NS)
		return now_ns >= overhead->due_ns;
	cost_counters_read(kinds);
	for (unsigned i = 0; i < BUDGET_KINDS; i++)
		used_ns += increase(overhead->before.kinds[i].ns, kinds[i].ns);
	return used_ns > (now_ns - overhead->measured_ns) / URGENT_PART;
}

bool overhead_plan(struct overhead *overhead, const struct config *config, uint64_t now_ns)
{
	budget_set_share(&overhead->budget, config->budget_permil);
	return budget_plan(&overhead->budget, now_ns);
}

void overhead_limit(struct overhead *overhead, struct config *config)
{
	for (unsigned i = 0; i < BUDGET_KINDS; i++) {
		budget_want(&overhead->budget, i, interval_get(config, i));
		memcpy(interval_in(config, i), &overhead->budget.kinds[i].effective,
		       sizeof(uint64_t));
	}
}

void overhead_log(const struct overhead *overhead)
{
	for (unsigned i = 0; i < BUDGET_KINDS; i++) {
		const struct budget_kind *kind = &overhead->budget.kinds[i];

		if (kind->effective != kind->wanted)
			log_info("budget: %s samples are %llu %s apart, instead of %llu",
				 cost_names[i], (unsigned long long)kind->effective,
				 i == COST_MEMORY ? "bytes" : "ns",
				 (unsigned long long)kind->wanted);
	}
}

void overhead_keep(struct overhead *overhead, const struct config *config)
{
	for (unsigned i = 0; i < BUDGET_KINDS; i++)
		overhead->budget.kinds[i].effective = interval_get(config, i);
}

void overhead_reported(struct overhead *overhead)
{
	overhead->reported = overhead->total;
}

static void costs_subtract(struct report_costs *costs, const struct report_costs *total,
			   const struct report_costs *before)
{
	costs->elapsed_ns = total->elapsed_ns - before->elapsed_ns;
	costs->program_ns = total->program_ns - before->program_ns;
	costs->fixed_ns = total->fixed_ns - before->fixed_ns;
	for (unsigned i = 0; i < COST_KINDS; i++) {
		const struct report_cost *all = &total->kinds[i], *old = &before->kinds[i];

		costs->kinds[i] =
			(struct report_cost){ .samples = all->samples - old->samples,
					      .ns = all->ns - old->ns,
					      .sampled_ns = all->sampled_ns - old->sampled_ns,
					      .kept_ns = all->kept_ns - old->kept_ns };
	}
}

void overhead_costs(struct overhead *overhead, const struct report_costs *since,
		    struct report_costs *costs)
{
	const struct report_costs *reported = &overhead->reported;

	overhead_measure(overhead, clock_monotonic_ns());
	costs_subtract(costs, &overhead->total,
		       since && since->elapsed_ns > reported->elapsed_ns ? since : reported);
}

void overhead_recent(struct overhead *overhead, struct report_costs *costs)
{
	overhead_measure(overhead, clock_monotonic_ns());
	costs_subtract(costs, &overhead->total, &overhead->marks[1]);
}
