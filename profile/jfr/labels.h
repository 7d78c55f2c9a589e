/* What a recording belongs to, as "key=value" lines: its process, by the file's name, and the tags,
 * host, executable and version, which metadata.json beside it in a zip brings, or the recording itself. */
#ifndef PROFILE_JFR_LABELS_H
#define PROFILE_JFR_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

/* The lines in OUT: "process=NAME_PID" where FILE is named NAME_PID_TIME.jfr, or so packed, and
 * then LABELS, which may be NULL. */
void labels_write(struct buf *out, const char *file, const char *labels);

/* The length of FILE without the member's name that stands in brackets behind a zip's. */
size_t labels_file_path_length(const char *file);

/* The lines from the text of a metadata.json, or NULL; to be freed. */
char *labels_from_metadata(const char *json);

/* The lines that the recording in DATA tells, each once, of all the recordings where it is several; or
 * NULL; to be freed. */
char *labels_from_recording(const uint8_t *data, uint64_t length);

#endif
