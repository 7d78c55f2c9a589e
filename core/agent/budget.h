/* Overhead budget: the sampling intervals at which the cost of sampling stays below a share of the program's CPU time, or
 * below a fixed small part of a processor. Intervals are lengthened up to limits (budget.c).
 *
 * These functions read no clock: the caller measures the costs, tells the time and changes the engines. While the costs
 * exceed the budget, the most expensive kind is sampled less often, until it costs as much as the next one, and so on.
 * So a cheap kind is not reduced because of an expensive one.
 *
 * The cost of CPU samples is proportional to the program's CPU time. Their interval follows from the cost of one sample
 * and from a CPU rate that rises at once and falls with a time constant of a minute. So samples in a burst after an idle
 * period are neither too expensive nor rarer than necessary. */
#ifndef CORE_AGENT_BUDGET_H
#define CORE_AGENT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/cost_counters.h"

/* The kinds of samples with an interval: the first kinds of enum cost_kind. */
#define BUDGET_KINDS 3

#define BUDGET_OFF UINT64_MAX

/* Measurements of one window of time. */
struct budget_window {
	uint64_t elapsed_ns; /* length of the window, not 0 */
	uint64_t program_ns; /* CPU time of the program, without the agent's threads and handlers */
	uint64_t fixed_ns;   /* cost that is not in KINDS: the agent's threads, stalls and locks */
	struct cost kinds[BUDGET_KINDS];
};

struct budget_kind {
	uint64_t
		wanted; /* interval of the settings: nanoseconds or bytes; BUDGET_OFF: not sampled */
	uint64_t effective; /* at least WANTED */
	/* CPU: nanoseconds for one sample. Others: CPU time for a unit of time, multiplied by the interval: the
	 * cost at any other interval is this, divided by it. */
	double unit;
	double evidence; /* CPU: samples that UNIT is the average of. Others: enough, once measured */
	uint64_t changed_ns;
};

/* Starts as {0}, with budget_want() for each kind. */
struct budget {
	double share;    /* 0: no budget */
	double measured; /* seconds measured so far */
	/* Processors that the program uses, lately and at most (falls slowly), and that FIXED_NS of a window uses. */
	double program, program_peak, fixed;
	struct budget_kind kinds[BUDGET_KINDS];
};

/* Set the share in thousandths; BUDGET_OFF: none. */
void budget_set_share(struct budget *budget, uint64_t permil);

/* Set the interval that the settings ask for. A changed one gets its effective interval at once, from the costs so
 * far. Otherwise nothing changes. */
void budget_want(struct budget *budget, enum cost_kind kind, uint64_t wanted);

/* Include the measurements of WINDOW. */
void budget_measure(struct budget *budget, const struct budget_window *window);

/* Set the effective intervals for the time from NOW_NS on. Returns true if one has changed. */
bool budget_plan(struct budget *budget, uint64_t now_ns);

/* Cost of KIND at INTERVAL, in processors, at the program's CPU rate; 0 if it is not known. */
double budget_cost(const struct budget *budget, enum cost_kind kind, uint64_t interval);

#endif
