/* Costs of sampling as the agent's side reads them. Any thread of the agent. */
#ifndef CORE_AGENT_COST_COUNTERS_H
#define CORE_AGENT_COST_COUNTERS_H

#include <stdint.h>

#include "core/cost.h"

/* Names for status, metrics and recordings. */
extern const char *const cost_names[COST_KINDS];

struct cost {
	uint64_t samples;
	uint64_t ns;       /* all CPU time for these samples */
	uint64_t agent_ns; /* the part of it in the agent's thread */
};

/* Read all costs so far. */
void cost_counters_read(struct cost costs[COST_KINDS]);

/* CPU time that the kernel needs for the timer of a CPU sample. The first call measures it. Other timers are set by the
 * agent's thread, which has their cost. */
uint64_t cost_timer_ns(void);

/* Time that the kernel needs to deliver a signal and to return from its handler. The first call measures it. */
uint64_t cost_signal_ns(void);

#endif
