/* Zips, as the S3 reporter makes them. */
#ifndef DECODER_INPUT_UNZIP_H
#define DECODER_INPUT_UNZIP_H

#include "decoder/input/source.h"

/* Replace *SOURCE, a mapped zip, by the list of the recordings in it: every member whose name ends
 * in .jfr, and no other; none is unpacked yet. Returns 0, or -errno after a line on stderr; *SOURCE
 * is gone then. */
int unzip_recordings(struct source **source);

#endif
