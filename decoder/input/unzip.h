/* Zips, as the S3 reporter makes them. */
#ifndef DECODER_INPUT_UNZIP_H
#define DECODER_INPUT_UNZIP_H

#include "decoder/input/source.h"

/* A zip that stays open for as long as one of its members may be wanted. */
struct archive;

/* Replace *SOURCE, a mapped zip, by the list of the recordings in it: every member whose name ends
 * in .jfr, and no other; none is unpacked yet. Returns 0, or -errno after a line on stderr; *SOURCE
 * is gone then. */
int unzip_recordings(struct source **source);

/* Unpack SOURCE, a member. Returns 0, or -errno after a line that names the zip, the member, and where
 * in the zip that is. */
int unzip_member(struct source *source);

/* A member of ARCHIVE is gone. */
void archive_release(struct archive *archive);

/* For those who unpack: map FD as NAME; fill SOURCE with the content of FD; an unnamed file to write
 * to, or -1 with errno; and the most bytes that so many packed ones may come to. Recordings pack to a
 * quarter: what claims to be a bomb is one. */
int source_map(struct source **out, const char *name, int fd);
int source_fill(struct source *source, int fd);
int source_spare_file(void);
uint64_t source_unpacked_max(uint64_t packed);

#endif
