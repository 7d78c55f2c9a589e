/* CPU time of the agent's thread for the samples in the rings, divided among their kinds. Agent thread only. */
#ifndef ENGINE_COLLECT_DRAIN_COST_H
#define ENGINE_COLLECT_DRAIN_COST_H

#include "engine/sample/ring.h"

/* Called around ring_drain(). */
void drain_cost_begin(void);
void drain_cost_end(void);

/* Between these: a sample of KIND is read. */
void drain_cost_count(enum sample_kind kind);

#endif
