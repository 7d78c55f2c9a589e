/* Labels of a recording, as lines of "key=value": its process, from the file name; its tags,
 * host, executable, version and "profiled_since" (milliseconds since 1970), from the zip's
 * metadata.json or from the recording itself. */
#ifndef PROFILE_JFR_LABELS_H
#define PROFILE_JFR_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

/* Replace OUT by "process=NAME_PID", if FILE's name is NAME_PID_TIME.jfr (or a packed form of it),
 * and then LABELS, which may be NULL. */
void labels_write(struct buf *out, const char *file, const char *labels);

/* Returns the length of FILE without the name of a zip member in parentheses: "a.zip(b.jfr)" ->
 * 5. */
size_t labels_file_path_length(const char *file);

/* Returns the lines from the text of a metadata.json, or NULL. Release with free(). */
char *labels_from_metadata(const char *json);

/* Returns the lines from the label chunks of the recordings in DATA, each line once, or NULL.
 * Release with free(). */
char *labels_from_recording(const uint8_t *data, uint64_t length);

#endif
