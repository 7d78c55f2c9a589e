/* Encoder of the type tables as a chunk's metadata. */
#ifndef ENGINE_JFR_JFR_METADATA_H
#define ENGINE_JFR_JFR_METADATA_H

#include "core/buf.h"

/* Append the body of the metadata event, without its id and the fields before it, to OUT. It is the
 * same for every chunk. Returns 0 or -errno. */
int jfr_metadata(struct buf *out);

#endif
