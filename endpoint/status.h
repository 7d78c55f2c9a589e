/* The agent's status as JSON and as metrics. */
#ifndef ENDPOINT_STATUS_H
#define ENDPOINT_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/live.h"
#include "core/buf.h"
#include "core/memory/account.h"

/* Resources that the agent itself uses. */
struct status_cost {
	uint64_t cpu_ns; /* CPU time of its current threads */
	struct memory_account memory;
	unsigned threads;
};

void status_measure_cost(struct status_cost *cost);

/* Append STATUS to OUT as a JSON object. Returns 0 or -errno. */
int status_write_json(struct buf *out, const struct live_status *status,
		      const struct status_cost *cost);

/* Append STATUS to OUT as metrics: in OpenMetrics 1.0, or in Prometheus' text format 0.0.4. The formats differ in the
 * names of counters in comments and in the last line. Returns 0 or -errno. */
int status_write_metrics(struct buf *out, const struct live_status *status,
			 const struct status_cost *cost, bool openmetrics);

#endif
