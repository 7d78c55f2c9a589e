/* What a recording belongs to, as "key=value" lines: its process, by the file's name, and the tags,
 * host and executable that metadata.json beside it in a zip brings. */
#ifndef DECODER_LABELS_H
#define DECODER_LABELS_H

#include "core/buf.h"

/* The lines in OUT: "process=NAME_PID" where FILE is named NAME_PID_TIME.jfr, or so packed, and
 * then LABELS, which may be NULL. */
void labels_of(struct buf *out, const char *file, const char *labels);

/* The lines from the text of a metadata.json, or NULL; to be freed. */
char *labels_from_metadata(const char *json);

#endif
