/* The start string: async-profiler's command that starts sampling. */
#ifndef ASYNCPROF_START_STRING_H
#define ASYNCPROF_START_STRING_H

#include <stdbool.h>
#include <string.h>

#include "core/agent/engine.h"
#include "core/agent/engine_start.h"
#include "core/buf.h"

/* Write the command for START to OUT, such as
 * "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=PATH". Returns 0 or -errno. */
int start_string_write(struct buf *out, const struct engine_start *start);

/* True when the user's OPTIONS (or NULL) have the event to sample; then the command has no other event. */
bool start_string_has_event(const char *options);

#endif
