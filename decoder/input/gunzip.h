/* Recordings compressed with gzip. */
#ifndef DECODER_INPUT_GUNZIP_H
#define DECODER_INPUT_GUNZIP_H

#include "decoder/input/source.h"

/* Replace *SOURCE, a mapped gzip file, by its content, unpacked to an unnamed file.
 * Returns 0, or -errno after a message; then *SOURCE is released. */
int gunzip_recording(struct source **source);

#endif
