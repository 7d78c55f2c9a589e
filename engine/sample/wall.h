/* The wall clock: every thread is counted once an interval, and a sleeping one is not woken for
 * it twice. Agent thread only. */
#ifndef ENGINE_SAMPLE_WALL_H
#define ENGINE_SAMPLE_WALL_H

#include <stdint.h>

#include "engine/jfr/jfr_write.h"
#include "engine/sample/ring.h"
#include "engine/sample/threads.h"

/* Visit every thread each INTERVAL_NS from now on; UINT64_MAX: never. */
void wall_start(uint64_t interval_ns);
void wall_stop(void);

/* Make the visits that are due. Returns when the next ones are (monotonic). */
uint64_t wall_visit(uint64_t now_ns);

/* A sample of kind SAMPLE_WALL has come out of the ring. */
void wall_take(struct jfr_writer *jfr, const struct sample *sample);

/* Write what was counted for every thread since its last event: at the end of a chunk. */
void wall_flush(struct jfr_writer *jfr);

/* The same for a thread that has ended, before its slot is reaped. */
void wall_end(struct jfr_writer *jfr, struct thread *thread);

#endif
