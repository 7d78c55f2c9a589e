/* Sampled waits for locks: writes them to the recording, with the stacks of the owners. Agent thread only. */
#ifndef ENGINE_COLLECT_LOCK_EVENTS_H
#define ENGINE_COLLECT_LOCK_EVENTS_H

#include "engine/jfr/jfr_write.h"
#include "engine/sample/ring.h"
#include "engine/symbols/symbols.h"

/* Process a SAMPLE_LOCK_WAIT: request the stack of the lock's owner. */
void lock_events_delayed(const struct sample *sample);

/* Process a SAMPLE_LOCK. */
void lock_events_ended(const struct sample *sample);

/* Write the waits that are over. One whose owner's stack is pending stays for a moment; with NOW_NS (monotonic) of
 * UINT64_MAX none stays, because the chunk ends. SYMBOLS name the locks. */
void lock_events_write(struct jfr_writer *jfr, struct symbols *symbols, uint64_t now_ns);

/* Drop all. */
void lock_events_stop(void);

#endif
