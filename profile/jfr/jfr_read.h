/* Reading JFR 2.x, by any writer: a recording is a row of chunks, and each chunk brings its own
 * types, constants and clock. Types are found by name, fields by the chunk's own description of
 * them, never by position. Events are streamed; constants are found by an index of where they
 * stand and looked at when they are needed.
 *
 * Everything here works on bytes in memory (a mapped file), trusts none of them, and belongs to
 * one thread; different chunks may be read by different threads. */
#ifndef PROFILE_JFR_JFR_READ_H
#define PROFILE_JFR_JFR_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/jfr/jfr_parsed.h"
#include "profile/jfr/jfr_value.h"

#define JFR_HEADER_SIZE 68 /* bytes of a chunk before its first event */

/* Read the header at OFFSET of DATA. Returns 0; -ENODATA at the end of the file; -EBADMSG with
 * ERROR set where there is no whole chunk. A chunk that is not finished, or is cut off, is told by
 * `error->what`. Of DATA only the header is looked at. */
int jfr_header(struct jfr_header *header, const uint8_t *data, uint64_t length, uint64_t offset,
	       struct jfr_error *error);

/* Read types and index constants of the chunk that HEADER found in the file mapped at FILE.
 * Returns 0 (release with jfr_chunk_close), -ENOMEM, or -EBADMSG with chunk->error set. */
int jfr_chunk_open(struct jfr_chunk *chunk, const uint8_t *file, const struct jfr_header *header);
void jfr_chunk_close(struct jfr_chunk *chunk);

struct jfr_scan {
	struct jfr_chunk *chunk;
	const uint8_t *at, *end;
	uint32_t kinds;
	bool times_only;               /* no slot behind JFR_TIME is wanted */
	const uint8_t *kept;           /* pages before this have been let go of */
	const struct jfr_type *filled; /* the type that the last event's slots were filled by */
	const struct jfr_event *last;
};

/* Start over the events of the chunk whose kinds are in the mask KINDS. */
void jfr_scan(struct jfr_scan *scan, struct jfr_chunk *chunk, uint32_t kinds);

/* The next event, or false at the end, or at damage, which chunk->error then tells. */
bool jfr_scan_next(struct jfr_scan *scan, struct jfr_event *event);

/* Let go of the pages of DATA, a mapped file, between FROM and UPTO: what was read need not stay
 * resident. */
void jfr_release_pages(const uint8_t *data, uint64_t from, uint64_t upto);

#endif
