/* Overhead of a session: what sampling costs, and how often the budget permits it. Agent thread only. */
#ifndef CORE_AGENT_OVERHEAD_H
#define CORE_AGENT_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/budget.h"
#include "core/agent/cost_counters.h"
#include "core/agent/report.h"
#include "core/options/config.h"

/* Counters since the process began. */
struct overhead_counters {
	uint64_t process_ns,
		threads_ns; /* CPU time of the process, and of the agent's threads in it */
	struct cost kinds[COST_KINDS];
};

struct overhead {
	struct budget budget;
	struct overhead_counters before;     /* at the end of the last window */
	uint64_t measured_ns;                /* that time; 0: measuring has not begun */
	uint64_t due_ns;                     /* end of the current window */
	struct report_costs total, reported; /* since the start; the part before the last report */
	struct report_costs marks[2];        /* the total 30 s ago at most, and 30 s before that */
	uint64_t mark_ns;
};

/* Begin the first window now. The intervals of CONFIG are the wanted ones. */
void overhead_start(struct overhead *overhead, const struct config *config, uint64_t now_ns);

/* Begin a window now, after a pause. */
void overhead_resume(struct overhead *overhead, uint64_t now_ns);

/* True if a window should end at NOW_NS: it is due, or samples are so expensive that the agent does not wait. */
bool overhead_is_due(const struct overhead *overhead, uint64_t now_ns);

/* End the window and begin the next. Does nothing if NOW_NS is not later than the last call. */
void overhead_measure(struct overhead *overhead, uint64_t now_ns);

/* Set the effective intervals by the budget of CONFIG. Returns true if one has changed. */
bool overhead_plan(struct overhead *overhead, const struct config *config, uint64_t now_ns);

/* Take the intervals of CONFIG as the wanted ones, and replace them with the effective ones. */
void overhead_limit(struct overhead *overhead, struct config *config);

/* Log the lengthened intervals. */
void overhead_log(const struct overhead *overhead);

/* The engines sample at the intervals of CONFIG: the last change was not possible. */
void overhead_keep(struct overhead *overhead, const struct config *config);

/* Measure now, and set COSTS to those since the last report, or since the total was SINCE (NULL: the start) if that was
 * later. */
void overhead_costs(struct overhead *overhead, const struct report_costs *since,
		    struct report_costs *costs);

/* Measure now, and set COSTS to those of the last half minute to minute. */
void overhead_recent(struct overhead *overhead, struct report_costs *costs);

/* The costs so far are reported. */
void overhead_reported(struct overhead *overhead);

#endif
