/* What the encoder's two halves share: the life of a chunk, and the events in it. */
#ifndef ENGINE_JFR_JFR_CHUNK_H
#define ENGINE_JFR_JFR_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "engine/jfr/jfr_interned.h"
#include "engine/jfr/jfr_out.h"

struct jfr_writer {
	struct buf metadata; /* the same in every chunk */
	struct jfr_interned interned;

	bool open; /* a chunk is */
	off_t base, chunk_start;
	uint64_t start_ns, start_ticks;
	uint64_t ticks_per_second; /* as measured last */
	unsigned coarse;           /* times in the file count 2^this ticks; 0: they are ticks */
	bool timed_by_others;      /* headers tell no duration */
	uint64_t dropped;          /* events of this chunk */
	uint32_t context;          /* of the samples that come next; 0: none */

	struct jfr_out out;
};

/* A point in time as the file has it. */
static inline uint64_t jfr_file_time(const struct jfr_writer *w, uint64_t ticks)
{
	if (!w->coarse)
		return ticks;
	return (uint64_t)((int64_t)(ticks - w->start_ticks) >> w->coarse);
}

/* Write jdk.ActiveRecording, which tells readers what program made the chunk. */
void jfr_active_recording(struct jfr_writer *w);

#endif
