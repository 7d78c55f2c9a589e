/* Parsers of a chunk's metadata (its types) and constant pools; used by jfr_read.c, settings.c and
 * labels.c. */
#ifndef PROFILE_JFR_JFR_META_H
#define PROFILE_JFR_JFR_META_H

#include "profile/jfr/jfr_parsed.h"

/* Read chunk->types from the metadata of CHUNK, whose `header` and `data` are set.
 * Returns 0, -ENOMEM, or -EBADMSG with chunk->error set. Call jfr_meta_free() in any case. */
int jfr_meta_read(struct jfr_chunk *chunk);
void jfr_meta_free(struct jfr_chunk *chunk);

/* Index the constants of a chunk whose types are read. Same results as jfr_meta_read(); call
 * jfr_pools_free() in any case, before jfr_meta_free(). */
int jfr_pools_read(struct jfr_chunk *chunk);
void jfr_pools_free(struct jfr_chunk *chunk);

/* Set chunk->error for the data at AT, unless an error is already set. WHAT is a constant string.
 * Returns -EBADMSG. */
int jfr_set_error(struct jfr_chunk *chunk, const uint8_t *at, const char *what);

#endif
