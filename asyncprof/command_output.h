/* What async-profiler tells of itself, in words of its own: its answers to `metrics` (since 4.0) and
 * `version`. For struct engine, and on the agent thread alone, which has ENGINE carry out commands. */
#ifndef ASYNCPROF_COMMAND_OUTPUT_H
#define ASYNCPROF_COMMAND_OUTPUT_H

#include "core/agent/engine.h"

bool command_output_parse_counts(const struct engine *engine, struct engine_counts *counts);
void answers_version(const struct engine *engine, char *text, size_t size);

#endif
