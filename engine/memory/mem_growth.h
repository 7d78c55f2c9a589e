/* Detects growth of the retained memory by a share of its last measured size. */
#ifndef ENGINE_MEMORY_MEM_GROWTH_H
#define ENGINE_MEMORY_MEM_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

/* Start with nothing retained, and detect a growth by PERMIL thousandths; UINT64_MAX: none. */
void mem_growth_start(uint64_t permil);

/* BYTES more or fewer are retained. Any thread, async-signal-safe. The first function returns true
 * once when the share is exceeded, to one caller only, until the next measurement. */
bool mem_growth_add(uint64_t bytes);
void mem_growth_subtract(uint64_t bytes);

/* True if the share was exceeded since the last call. The first call, and each call after a growth,
 * sets the base of the next measurement. Called by one thread, the collector. */
bool mem_growth_measure(void);

#endif
