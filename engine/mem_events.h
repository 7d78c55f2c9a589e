/* What native memory sampling tells, on its way: to the rings as samples, to the log in words. */
#ifndef ENGINE_MEM_EVENTS_H
#define ENGINE_MEM_EVENTS_H

#include <stdint.h>

#include "engine/jfr_write.h"
#include "engine/mem.h"
#include "engine/ring.h"
#include "engine/symbols.h"

/* The port to hand to mem_start() and mem_limit(). */
extern const struct mem_port mem_events;

/* Call REPORT_NOW (any thread, async-signal-safe) when what is retained has grown by its share. */
void mem_events_on_growth(void (*report_now)(void));

/* The rest is for the collector. */

/* Samples of kind SAMPLE_MALLOC and SAMPLE_FREE. */
void mem_events_malloc(struct jfr_writer *jfr, const struct sample *sample);
void mem_events_free(struct jfr_writer *jfr, const struct sample *sample);

/* At the end of a chunk: write what is retained by every stack, and where it has grown by its
 * share say so, with the stacks that hold most. Sets what was lost and pushed out since the
 * start. */
void mem_events_chunk(struct jfr_writer *jfr, struct symbols *symbols, uint64_t ticks,
		      uint64_t *lost, uint64_t *evicted);

#endif
