/* Recordings that somebody has packed with gzip. */
#ifndef DECODER_INPUT_GUNZIP_H
#define DECODER_INPUT_GUNZIP_H

#include "decoder/input/source.h"

/* Replace *SOURCE, a mapped gzip, by what is in it, unpacked to an unnamed file. Returns 0, or -errno
 * after a line on stderr; *SOURCE is gone then. */
int gunzip_recording(struct source **source);

#endif
