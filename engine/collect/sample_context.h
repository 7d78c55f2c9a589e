/* Converts a sample's context to JFR. Agent thread. */
#ifndef ENGINE_COLLECT_SAMPLE_CONTEXT_H
#define ENGINE_COLLECT_SAMPLE_CONTEXT_H

#include <stdint.h>

#include "engine/context/thread_context.h"
#include "engine/jfr/jfr_write.h"

/* The id of RECORD in the chunk of JFR. Returns 0 for NULL, and when the table is full. */
uint32_t sample_context_id(struct jfr_writer *jfr, const struct context_record *record);

#endif
