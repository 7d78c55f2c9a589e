/* The label chunk: identity and settings of a recording, in a chunk after the engines' chunks. It
 * is separate because the agent must not write to the chunks of another engine. */
#ifndef ENGINE_COLLECT_LABEL_CHUNK_H
#define ENGINE_COLLECT_LABEL_CHUNK_H

#include "core/agent/report.h"

/* Write the label chunk of REPORT to FD, an empty file. The chunk has no samples and no duration;
 * its time is the start of REPORT's first chunk. It contains jdk.ActiveSetting events:
 *
 * * agent.host and agent.executable; agent.recovered for a recovered report
 * * agent.profiled_since, milliseconds since 1970, unless it is 0
 * * agent.tag.KEY for each tag
 * * agent.service_version if no tag is named version
 * * interval, wall and nativemem of REPORT's sampling, as in the chunks before
 *
 * and the states of threads, if the report is this process's own and another engine took its samples (wait_log.h).
 * The chunk has all types of a builtin engine's chunk: some readers refuse a chunk that lacks one.
 * Returns 0 or -errno. */
int label_chunk_write(int fd, const struct report *report);

#endif
