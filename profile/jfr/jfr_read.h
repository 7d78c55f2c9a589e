/* JFR 2.x reader for recordings of any writer. A recording is a sequence of chunks; each chunk has
 * its own types, constants and clock. Types and fields are found by name in the chunk's metadata,
 * never by position. Events are streamed; constants are indexed and decoded on demand.
 *
 * The reader works on bytes in memory (a mapped file) and validates all of them. A chunk is used by
 * one thread; different threads may read different chunks. */
#ifndef PROFILE_JFR_JFR_READ_H
#define PROFILE_JFR_JFR_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/jfr/jfr_parsed.h"
#include "profile/jfr/jfr_value.h"

#define JFR_HEADER_SIZE 68 /* bytes of a chunk before its first event */

/* A chunk's start and duration beyond these limits are reduced to them, so that sums and differences of times fit: from 1970 to
 * 2207, and 25 years. */
#define JFR_START_NS_MAX    INT64_C(7500000000000000000)
#define JFR_DURATION_NS_MAX INT64_C(800000000000000000)

/* A + B in ticks. In a damaged recording both are any numbers, so the sum may wrap around. */
static inline int64_t jfr_ticks_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Read the chunk header at OFFSET of DATA, a file of LENGTH bytes. Returns 0; -ENODATA at the end
 * of the file; -EBADMSG with ERROR set if there is no complete chunk: error->what then says whether
 * the chunk is damaged, unfinished or cut off. Reads only the header. */
int jfr_header_read(struct jfr_header *header, const uint8_t *data, uint64_t length,
		    uint64_t offset, struct jfr_error *error);

/* Open the chunk with HEADER, from jfr_header_read(), in the file mapped at FILE: read its types
 * and index its constants. FILE must outlive CHUNK. Returns 0 (release with jfr_chunk_close),
 * -ENOMEM, or -EBADMSG with chunk->error set. */
int jfr_chunk_open(struct jfr_chunk *chunk, const uint8_t *file, const struct jfr_header *header);
void jfr_chunk_close(struct jfr_chunk *chunk);

/* Iterator over the events of a chunk. */
struct jfr_scan {
	struct jfr_chunk *chunk;
	const uint8_t *at, *end;
	uint32_t kinds;
	bool times_only;                    /* fill no slot after JFR_TIME */
	const uint8_t *released;            /* pages before this address are released */
	const struct jfr_type *filled_type; /* type of the event in filled_event */
	const struct jfr_event *filled_event;
};

/* Start a scan of CHUNK's events whose kinds are in the mask KINDS. */
void jfr_scan_start(struct jfr_scan *scan, struct jfr_chunk *chunk, uint32_t kinds);

/* Read the next event. Returns false at the end, and at damage: then chunk->error is set. */
bool jfr_scan_next(struct jfr_scan *scan, struct jfr_event *event);

/* Release the pages of DATA, a mapped file, from offset FROM to END, so that they are not
 * resident. */
void jfr_release_pages(const uint8_t *data, uint64_t from, uint64_t end);

#endif
