/* Files of other profilers, converted to recordings. */
#ifndef DECODER_INPUT_IMPORT_SOURCE_H
#define DECODER_INPUT_IMPORT_SOURCE_H

#include "decoder/input/source.h"

/* Replace *SOURCE, a loaded file, by its conversion if it has the format of another profiler; else
 * leave it. TIME_NS (since 1970) is the time of samples that have none. Returns 0; or -errno after a
 * message, and *SOURCE is closed. */
int import_source(struct source **source, int64_t time_ns);

#endif
