/* Zips, as the S3 reporter makes them. */
#ifndef DECODER_UNZIP_H
#define DECODER_UNZIP_H

#include "decoder/source.h"

/* Replace *SOURCE, a mapped zip, by the list of the recordings in it: every member whose name ends
 * in .jfr, and no other. Returns 0, or -errno after a line on stderr; *SOURCE is gone then. */
int unzip_recordings(struct source **source);

/* For unzip.c: map FD as NAME; an unnamed file to write to, or -1 with errno. */
int source_map(struct source **out, const char *name, int fd);
int source_spare_file(void);

#endif
