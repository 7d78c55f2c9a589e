/* The metadata event of a chunk: the description of all its types. */
#ifndef PROFILE_JFR_JFR_META_H
#define PROFILE_JFR_JFR_META_H

#include "profile/jfr/jfr_parsed.h"

/* Fill in chunk->types from the metadata, links between types included, and free them again.
 * Returns 0, -ENOMEM, or -EBADMSG with chunk->error set; either way to be freed. */
int jfr_meta_read(struct jfr_chunk *chunk);
void jfr_meta_free(struct jfr_chunk *chunk);

/* Index the constants. As above. */
int jfr_pools_read(struct jfr_chunk *chunk);
void jfr_pools_free(struct jfr_chunk *chunk);

/* Set chunk->error, unless it was set before. Returns -EBADMSG. */
int jfr_set_error(struct jfr_chunk *chunk, const uint8_t *at, const char *what);

#endif
