/* Writes native memory samples to the recording, and growth of the heap to the log. Agent thread
 * only. */
#ifndef ENGINE_COLLECT_MEM_EVENTS_H
#define ENGINE_COLLECT_MEM_EVENTS_H

#include <stdint.h>

#include "engine/jfr/jfr_write.h"
#include "engine/sample/ring.h"
#include "engine/symbols/symbols.h"

/* Write a sample of kind SAMPLE_MALLOC or SAMPLE_FREE; engine/memory/mem_record.h documents them. */
void mem_events_malloc(struct jfr_writer *jfr, const struct sample *sample);
void mem_events_free(struct jfr_writer *jfr, const struct sample *sample);

/* At the end of a report's last chunk: write the retained memory of every stack. If it has grown by
 * the configured share, log the growth with the stacks that retain most. Does nothing without
 * mem_record_start(). Adds to LOSSES what the sampler's tables have lost since the last call:
 * allocations (table_evictions) and stacks (retained_stacks). */
void mem_events_chunk(struct jfr_writer *jfr, struct symbols *symbols, uint64_t ticks,
		      struct jfr_losses *losses);

#endif
