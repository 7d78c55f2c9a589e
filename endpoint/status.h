/* How the agent is, in words for programs. */
#ifndef ENDPOINT_STATUS_H
#define ENDPOINT_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agent/live.h"
#include "core/buf.h"

/* What the agent itself takes of the machine. */
struct status_cost {
	uint64_t cpu_ns;       /* of its threads that live */
	uint64_t memory_bytes; /* that its side has mapped */
	unsigned threads;
};

void status_cost(struct status_cost *cost);

/* Append STATUS as an object of JSON. Returns 0 or -errno. */
int status_write_json(struct buf *out, const struct live_status *status,
		      const struct status_cost *cost);

/* As metrics: in OpenMetrics 1.0, or in Prometheus' text format 0.0.4, which differ in the names of counters in
 * comments, and in the end. Returns 0 or -errno. */
int status_write_metrics(struct buf *out, const struct live_status *status,
			 const struct status_cost *cost, bool openmetrics);

#endif
