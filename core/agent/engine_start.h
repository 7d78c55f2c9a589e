/* The start string: a config in async-profiler's own words. */
#ifndef CORE_AGENT_ENGINE_START_H
#define CORE_AGENT_ENGINE_START_H

#include <stdbool.h>

#include "core/agent/report.h"
#include "core/buf.h"
#include "core/options/config.h"

/* Write the command that starts an engine on the recording at PATH, as
 * "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=PATH", into OUT.
 * With MEM, and native memory on, the engine samples that too. Returns 0 or -errno, -EINVAL
 * when there is nothing to sample at all. */
int start_string(struct buf *out, const struct config *config, const char *path, bool mem);

/* What that command has the engine take samples by. What the engine options say goes before, as it comes behind; 0
 * where it is not to be understood. */
struct sampling builtin_start_sampling(const struct config *config, bool mem);

/* True when the engine options name the event to sample; the command then has no other. */
bool start_string_names_event(const struct config *config);

#endif
