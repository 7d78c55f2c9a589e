/* What a chunk tells besides its samples: the modules, the machine, and how busy that is. Agent
 * thread only. */
#ifndef ENGINE_COLLECT_CHUNK_FACTS_H
#define ENGINE_COLLECT_CHUNK_FACTS_H

#include <stdint.h>

#include "engine/jfr/jfr_write.h"

/* The modules that were mapped in its time, with their build-ids. */
void chunk_modules(struct jfr_writer *jfr, uint64_t ticks);

void chunk_machine(struct jfr_writer *jfr, uint64_t ticks);

/* The load since the call before; nothing where that is too little time to tell. */
void chunk_load(struct jfr_writer *jfr, uint64_t ticks);

#endif
