/* The type tables as the metadata of a chunk. */
#ifndef ENGINE_JFR_JFR_METADATA_H
#define ENGINE_JFR_JFR_METADATA_H

#include "core/buf.h"

/* Append the body of the metadata event, from behind its id on, to OUT. It is the same
 * for every chunk. Returns 0 or -errno. */
int jfr_metadata(struct buf *out);

#endif
