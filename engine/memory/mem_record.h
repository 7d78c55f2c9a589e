/* What native memory sampling tells: to the rings as samples, to the log in words.
 *
 * The args of a SAMPLE_MALLOC are address, size and weight; of a SAMPLE_FREE too, and its payload
 * is the time of birth. */
#ifndef ENGINE_MEMORY_MEM_RECORD_H
#define ENGINE_MEMORY_MEM_RECORD_H

#include "engine/memory/mem.h"

/* The port to hand to mem_limit(). */
extern const struct mem_port mem_record_port;

/* From the next start on, call REPORT_NOW (from any thread, within malloc) when what is retained
 * has grown by PERMIL thousandths; MEM_OFF: never. */
void mem_record_set_growth(uint64_t permil, void (*report_now)(void));

/* mem_start() with all this; INTERVAL as there. Agent thread. */
int mem_record_start(uint64_t interval);

#endif
