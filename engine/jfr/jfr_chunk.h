/* State of a chunk that is being written, shared by the two halves of the encoder: chunks, and
 * events. */
#ifndef ENGINE_JFR_JFR_CHUNK_H
#define ENGINE_JFR_JFR_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "engine/jfr/jfr_interned.h"
#include "engine/jfr/jfr_out.h"
#include "engine/jfr/jfr_wait.h"

struct jfr_writer {
	struct buf metadata; /* the same in every chunk */
	struct jfr_interned interned;

	bool open; /* a chunk is open */
	off_t base, chunk_start;
	uint64_t start_ns, start_ticks;
	uint64_t ticks_per_second; /* the last measured rate */
	bool calibrated;           /* the rate is not measured again */
	unsigned coarse; /* times in the file are in units of 2^this ticks; 0: they are ticks */
	bool timed_by_others; /* headers have a duration of 0 */
	uint64_t dropped;     /* dropped events of this chunk */
	bool uses_reserve;    /* further stacks are those of the retained memory */
	uint64_t events_full; /* then: stacks of events without room */
	uint32_t context;     /* context of the next samples; 0: none */
	struct jfr_wait wait; /* of the next wall-clock sample */

	struct jfr_out out;
};

/* Convert TICKS to a time in the file. */
static inline uint64_t jfr_file_time(const struct jfr_writer *w, uint64_t ticks)
{
	if (!w->coarse)
		return ticks;
	return (uint64_t)((int64_t)(ticks - w->start_ticks) >> w->coarse);
}

/* Write jdk.ActiveRecording, which identifies the program that wrote the chunk. */
void jfr_active_recording(struct jfr_writer *w);

#endif
