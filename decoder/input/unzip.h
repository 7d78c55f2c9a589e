/* Zips with recordings. */
#ifndef DECODER_INPUT_UNZIP_H
#define DECODER_INPUT_UNZIP_H

#include "decoder/input/source.h"

/* Replace *SOURCE, a mapped zip, by the list of its members whose names end in .jfr. No member is unpacked yet.
 * Returns 0, or -errno after a message; then *SOURCE is released. */
int unzip_recordings(struct source **source);

#endif
