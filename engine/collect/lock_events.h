/* Sampled waits for locks: writes them to the recording, with the stacks of the owners. Agent thread only. */
#ifndef ENGINE_COLLECT_LOCK_EVENTS_H
#define ENGINE_COLLECT_LOCK_EVENTS_H

#include "engine/jfr/jfr_write.h"
#include "engine/sample/ring.h"
#include "engine/symbols/symbols.h"

/* Keep a SAMPLE_LOCK or a SAMPLE_LOCK_OWNER. A wait for which there is no room is written to JFR without its owner. SYMBOLS
 * name the lock. */
void lock_events_add(struct jfr_writer *jfr, struct symbols *symbols, const struct sample *sample);

/* Write the waits that were there at the last call, or all if the CHUNK_ENDS: the owner's sample may be in a ring that was
 * drained before the wait ended. */
void lock_events_write(struct jfr_writer *jfr, struct symbols *symbols, bool chunk_ends);

/* Drop all. */
void lock_events_stop(void);

#endif
