/* Parser of the output of async-profiler's commands `metrics` (since 4.0) and `version`. */
#ifndef ASYNCPROF_COMMAND_OUTPUT_H
#define ASYNCPROF_COMMAND_OUTPUT_H

#include "core/agent/engine.h"

/* Set COUNTS from the output of `metrics`. Missing numbers are 0. */
void command_output_parse_counts(const char *output, struct engine_counts *counts);

/* Copy the first line of the output of `version` to TEXT, of SIZE bytes. */
void command_output_parse_version(const char *output, char *text, size_t size);

#endif
