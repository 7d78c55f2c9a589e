/* Counts the samples that a recording holds. What an engine tells of itself is of another moment than
 * the end of a chunk. */
#ifndef CORE_AGENT_SAMPLES_H
#define CORE_AGENT_SAMPLES_H

#include <stdint.h>

#include "core/agent/report.h"

/* Add to *COUNT the samples in PART, whole chunks of either engine: the events of every type that has a
 * stack trace, as CPU time, wall clock, allocations and locks, each as one, as any reader of the file
 * counts them. Not frees, and not those of our own types, which sum up samples. Takes about ten
 * nanoseconds for an event. Returns 0, -EBADMSG where it is no JFR, or another -errno, with *COUNT as
 * it was. */
int samples_count(const struct report_part *part, uint64_t *count);

#endif
