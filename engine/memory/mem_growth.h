/* Whether what is retained has grown by a share since it was last measured. */
#ifndef ENGINE_MEMORY_MEM_GROWTH_H
#define ENGINE_MEMORY_MEM_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

/* Begin with nothing retained, and watch for a growth by PERMIL thousandths; UINT64_MAX: none. */
void mem_growth_start(uint64_t permil);

/* BYTES more are retained, or fewer. Any thread, async-signal-safe. The first returns true to one
 * caller when the share is passed, and then to nobody until it is measured anew. */
bool mem_growth_add(uint64_t bytes);
void mem_growth_subtract(uint64_t bytes);

/* Whether the share was passed since the last time. The first call, and each that follows a growth,
 * sets what the next growth is measured by. For one thread, the collector. */
bool mem_growth_measure(void);

#endif
