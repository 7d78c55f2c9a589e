/* What native memory sampling tells, on its way: to the rings as samples, to the log in words. */
#ifndef ENGINE_MEMORY_MEM_EVENTS_H
#define ENGINE_MEMORY_MEM_EVENTS_H

#include <stdint.h>

#include "engine/jfr/jfr_write.h"
#include "engine/memory/mem.h"
#include "engine/sample/ring.h"
#include "engine/symbols/symbols.h"

/* The port to hand to mem_limit(). */
extern const struct mem_port mem_events;

/* From the next start on, call REPORT_NOW (from any thread, within malloc) when what is retained
 * has grown by PERMIL thousandths; MEM_OFF: never. */
void mem_events_growth(uint64_t permil, void (*report_now)(void));

/* The rest is for the engine's thread. */

/* mem_start() with all this; INTERVAL as there. */
int mem_events_start(uint64_t interval);

/* Samples of kind SAMPLE_MALLOC and SAMPLE_FREE. */
void mem_events_malloc(struct jfr_writer *jfr, const struct sample *sample);
void mem_events_free(struct jfr_writer *jfr, const struct sample *sample);

/* At the end of a chunk: write what is retained by every stack, and where it has grown by its
 * share say so, with the stacks that hold most. Nothing without mem_events_start(). Adds to
 * *MISSED the allocations that were sampled since the last time and are not known any more. */
void mem_events_chunk(struct jfr_writer *jfr, struct symbols *symbols, uint64_t ticks,
		      uint64_t *missed);

#endif
