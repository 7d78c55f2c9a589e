/* Counts the samples in a recording. The counters of an engine are read after the end of the chunk, so they include
 * samples of the next one. */
#ifndef CORE_AGENT_SAMPLES_H
#define CORE_AGENT_SAMPLES_H

#include <stdint.h>

#include "core/agent/report.h"

/* Add the number of samples in PART, whole chunks of either engine, to *COUNT. Samples are events of types with a
 * stack trace: CPU time, wall clock, allocations, locks. Each event counts once, whatever its weight.
 * Frees and the agent's own types, which aggregate samples, do not count. Takes about ten nanoseconds per event.
 *
 * Returns 0, -EBADMSG for data that is not JFR, or another -errno; on failure *COUNT is unchanged. */
int samples_count(const struct report_part *part, uint64_t *count);

#endif
