/* What native memory sampling has told, on its way into the recording, and to the log in words. Agent
 * thread only. */
#ifndef ENGINE_COLLECT_MEM_EVENTS_H
#define ENGINE_COLLECT_MEM_EVENTS_H

#include <stdint.h>

#include "engine/jfr/jfr_write.h"
#include "engine/sample/ring.h"
#include "engine/symbols/symbols.h"

/* Samples of kind SAMPLE_MALLOC and SAMPLE_FREE, as engine/memory/mem_record.h has them. */
void mem_events_malloc(struct jfr_writer *jfr, const struct sample *sample);
void mem_events_free(struct jfr_writer *jfr, const struct sample *sample);

/* At the end of a chunk: write what is retained by every stack, and where it has grown by its
 * share say so, with the stacks that hold most. Nothing without mem_record_start(). Adds to
 * *MISSED the allocations that were sampled since the last time and are not known any more. */
void mem_events_chunk(struct jfr_writer *jfr, struct symbols *symbols, uint64_t ticks,
		      uint64_t *missed);

#endif
