/* CPU time of the agent's thread for the samples in the rings, divided among their kinds. */
#include "engine/collect/drain_cost.h"

#include <string.h>

#include "core/clock.h"
#include "core/cost.h"

static const struct {
	enum sample_kind sample;
	enum cost_kind cost;
} kinds[] = {
	{ SAMPLE_CPU, COST_CPU },          { SAMPLE_WALL, COST_WALL },
	{ SAMPLE_MALLOC, COST_MEMORY },    { SAMPLE_FREE, COST_MEMORY },
	{ SAMPLE_STALL, COST_STALLS },     { SAMPLE_LOCK, COST_LOCKS },
	{ SAMPLE_LOCK_OWNER, COST_LOCKS },
};

static struct {
	uint64_t begin_ns;
	uint64_t counts[COST_KINDS], all;
} drain;

void drain_cost_begin(void)
{
	memset(&drain, 0, sizeof(drain));
	drain.begin_ns = clock_cpu_ns();
}

void drain_cost_count(enum sample_kind kind)
{
	drain.all++;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].sample == kind)
			drain.counts[kinds[i].cost]++;
}

void drain_cost_end(void)
{
	uint64_t ns = clock_cpu_ns() - drain.begin_ns;

	for (unsigned i = 0; drain.all && i < COST_KINDS; i++)
		if (drain.counts[i])
			cost_add_agent(i, ns * drain.counts[i] / drain.all);
}
