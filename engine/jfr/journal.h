/* A file of records that is only ever added to, so that who reads it when its writer is dead has all
 * that was written until then: each record has its length and a checksum, and what is not whole ends it.
 *
 * The running recording is kept so in a spool: core/agent/running_files.h has who writes what, upload/recover/ reads it. */
#ifndef ENGINE_JFR_JOURNAL_H
#define ENGINE_JFR_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

/* What a record tells; the payload of each is said where it is written. */
enum journal_kind {
	JOURNAL_BEGIN =
		1,   /* a chunk: what came before is of no use any more (engine/jfr/jfr_saved.h) */
	JOURNAL_PCS, /* likewise, down to JOURNAL_CONTEXT */
	JOURNAL_STACKS,
	JOURNAL_SPECIAL,
	JOURNAL_THREAD,
	JOURNAL_USER_TYPE,
	JOURNAL_CONTEXT,
	JOURNAL_MODULES, /* engine/collect/keeping.c; these, too */
	JOURNAL_FRAME,
	JOURNAL_SLEEPER,
	JOURNAL_MARK,
};

/* Longer ones are not written, and not read. */
#define JOURNAL_RECORD_MAX (16u << 20)

/* Append a record, about the chunk number WRITER, with LENGTH bytes. Returns 0 or -errno, OUT being as it
 * was then. */
int journal_put(struct buf *out, enum journal_kind kind, uint8_t writer, const void *data,
		size_t length);

/* The same for a payload in pieces: what is appended to OUT between the two calls. BEGIN returns what END
 * wants. END takes it all back where ERR, or an error of its own, is not 0; it returns that. */
size_t journal_put_begin(struct buf *out);
int journal_put_end(struct buf *out, size_t begun, enum journal_kind kind, uint8_t writer, int err);

struct journal_record {
	enum journal_kind kind;
	uint8_t writer;
	size_t length;
	const uint8_t *data; /* not aligned */
};

/* The record at *AT of the LENGTH bytes at DATA, which may hold anything. Returns 1, and moves *AT behind
 * it, or 0 where there is none that is whole. */
int journal_next(const uint8_t *data, size_t length, size_t *at, struct journal_record *record);

#endif
