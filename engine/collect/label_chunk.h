/* Whom a recording is of, and how it was made, as a chunk that lies behind the engines'. It is not in theirs, as another
 * engine's are not ours to write. */
#ifndef ENGINE_COLLECT_LABEL_CHUNK_H
#define ENGINE_COLLECT_LABEL_CHUNK_H

#include "core/agent/report.h"

/* Write to FD, an empty file, a chunk with no samples, and of no duration, at the time at which REPORT's
 * first chunk begins: jdk.ActiveSetting events named agent.host, agent.executable,
 * agent.recovered where it is, of the tags agent.tag.KEY, and agent.service_version where no tag is called version; and interval,
 * wall and nativemem of REPORT's sampling, which are those of the chunks before. It has all types that a builtin engine's chunk has:
 * some readers refuse a chunk that lacks one. Returns 0 or -errno. */
int label_chunk_write(int fd, const struct report *report);

#endif
