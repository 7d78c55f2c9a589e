/* What only memory has of the chunk that is being written, as records of a journal (engine/jfr/journal.h), told
 * as it comes: with them and the events that the file has, somebody else can finish the chunk. */
#ifndef ENGINE_JFR_JFR_SAVED_H
#define ENGINE_JFR_JFR_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "engine/jfr/journal.h"
#include "engine/jfr/jfr_stacks.h"
#include "engine/jfr/jfr_write.h"

/* What of a chunk was told already. */
struct jfr_saved {
	uint32_t pcs, words, user_types, contexts;
	uint32_t special[JFR_STACK_SPECIALS];
	uint64_t *threads; /* what was told of each row, hashed */
	uint32_t thread_count, thread_capacity;
};

/* Append what a chunk of W that has just begun is: a record of its own, and then all that there is. Its
 * records are about the chunk number WRITER. Returns 0 or -errno; release SAVED with jfr_saved_free. */
int jfr_saved_begin(struct jfr_saved *saved, struct buf *out, uint8_t writer,
		    const struct jfr_writer *w);

/* Hand what events there are to the file, and append what is new. Sets *EVENTS to the bytes of the chunk
 * that the file has. Returns 0 or -errno, that of the file included. */
int jfr_saved_add(struct jfr_saved *saved, struct buf *out, uint8_t writer, struct jfr_writer *w,
		  uint64_t *events);

void jfr_saved_free(struct jfr_saved *saved);

/* ---- For who finishes it ---- */

/* Where the chunk begins in its file, as jfr_load() was told. */
uint64_t jfr_load_start(const struct jfr_writer *w);

/* Take RECORD, of a kind from JOURNAL_BEGIN to JOURNAL_CONTEXT, into W, which writes nothing meanwhile.
 * Returns 0, -ENOMEM, or -EBADMSG where it makes no sense, or not behind those before. */
int jfr_load(struct jfr_writer *w, const struct journal_record *record);

/* The chunk's first EVENTS bytes stand at CHUNK_START in FD, the writer's file from now on. What is not a
 * whole event, or comes behind such, is left out. The chunk is then open, as if W had written it: more events may
 * follow, and jfr_chunk_end(). *KEPT is how many of the bytes are in. Returns 0, or -errno: -EBADMSG
 * where they do not begin as a chunk of ours does, -EPROTO where it is of another version's. */
int jfr_resume(struct jfr_writer *w, int fd, off_t chunk_start, uint64_t events, uint64_t *kept);

#endif
