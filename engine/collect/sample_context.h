/* What a sample's thread was working on, as words for the recording. Agent thread. */
#ifndef ENGINE_COLLECT_SAMPLE_CONTEXT_H
#define ENGINE_COLLECT_SAMPLE_CONTEXT_H

#include <stdint.h>

#include "engine/context/thread_context.h"
#include "engine/jfr/jfr_write.h"

/* The id in JFR's chunk of what RECORD tells; 0 for NULL, and where it cannot be kept. */
uint32_t sample_context_id(struct jfr_writer *jfr, const struct context_record *record);

#endif
