/* Output of the native memory sampler: samples to the rings, messages to the log.
 *
 * The args of a SAMPLE_MALLOC and of a SAMPLE_FREE are address, size and weight. The payload of a
 * SAMPLE_FREE is the time of the allocation. */
#ifndef ENGINE_MEMORY_MEM_RECORD_H
#define ENGINE_MEMORY_MEM_RECORD_H

#include "engine/memory/mem.h"

/* The port for mem_limit(). */
extern const struct mem_port mem_record_port;

/* From the next start on, call REPORT_NOW when the retained memory has grown by PERMIL thousandths;
 * MEM_OFF: never. The call may come from any thread, within malloc. */
void mem_record_set_growth(uint64_t permil, void (*report_now)(void));

/* Call mem_start_early() with this port and INTERVAL. Thread of the program, after
 * cfi_lookup_init(). */
void mem_record_start_early(uint64_t interval);

/* Call mem_start() with this port and INTERVAL. Agent thread. */
int mem_record_start(uint64_t interval);

/* Sample every INTERVAL bytes from now on; the table of live allocations stays. While sampling. Agent thread. */
void mem_record_set_interval(uint64_t interval);

/* Stop what mem_record_start_early() has started, and drop its samples: another engine samples
 * native memory. Agent thread. */
void mem_record_cancel_early(void);

#endif
