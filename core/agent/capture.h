/* Capture: chunks that finish during a request of the live endpoint, copied to the client's file. Agent thread only; the
 * client reads its flag FULL. */
#ifndef CORE_AGENT_CAPTURE_H
#define CORE_AGENT_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/agent/report.h"

/* The files are in memory, and the kernel counts that memory as the program's. */
#define CAPTURE_MAX_BYTES  (16u << 20)
#define CAPTURES_MAX_BYTES (32u << 20) /* of all together */

/* Left of the agent's memory, for the response. */
#define CAPTURE_SPARE_BYTES (256u << 10)

/* Larger chunks are finished while there are captures: a capture holds whole chunks only. */
#define CAPTURE_CHUNK_BYTES (4u << 20)

/* Bytes of finished chunks in FD that are older than the capture, which omits them. */
struct capture_skip {
	int fd;
	uint64_t bytes;
};

extern const struct capture_skip capture_skips_nothing[2];

/* Intervals that a capture asks for; each may be OPTION_OFF: none. */
struct capture_intervals {
	uint64_t cpu_ns, wall_ns, mem_bytes;
	uint64_t until_ns; /* end of the lease, monotonic clock; UINT64_MAX: none */
};

extern const struct capture_intervals capture_intervals_none;

struct capture {
	int fd; /* the client's */
	/* The client's flag: nothing more will be copied, so the client need not wait any longer. */
	_Atomic bool *full;
	struct capture_skip skip[2];
	struct capture_intervals intervals;
	struct report_costs costs_before; /* of the session, at the capture's begin */
	uint64_t bytes;
	int err;
};

/* Append the chunks of REPORT to CAPTURE. ROOM is for all parts together. Each part is copied up to its first chunk that
 * does not fit; CAPTURE is then full, after this report. Sets the capture's error. A capture that is full or has an
 * error before the call does not change. */
void capture_add(struct capture *capture, const struct report *report, uint64_t room);

#endif
