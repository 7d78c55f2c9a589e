/* Events of a chunk that are not samples: modules, machine, CPU load. Agent thread only. */
#ifndef ENGINE_COLLECT_CHUNK_FACTS_H
#define ENGINE_COLLECT_CHUNK_FACTS_H

#include <stdint.h>

#include "engine/jfr/jfr_write.h"

/* Write the modules that were mapped during the chunk, with their build-ids. */
void chunk_modules(struct jfr_writer *jfr, uint64_t ticks);

void chunk_machine(struct jfr_writer *jfr, uint64_t ticks);

/* Write the CPU load since the previous call; nothing if too little time has passed. */
void chunk_load(struct jfr_writer *jfr, uint64_t ticks);

#endif
