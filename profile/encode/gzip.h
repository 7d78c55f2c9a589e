/* Gzip stream writer, into a file or a buffer. Not thread-safe: one thread uses a stream. */
#ifndef PROFILE_ENCODE_GZIP_H
#define PROFILE_ENCODE_GZIP_H

#include <stddef.h>
#include <stdio.h>

#include "core/buf.h"

struct gzip;

/* Start a stream into FILE or, if it is NULL, one that appends to BUF. The caller keeps both and
 * releases them after gzip_close(). Returns 0 (release with gzip_close) or -ENOMEM. */
int gzip_open(struct gzip **out, FILE *file, struct buf *buf);

/* Returns 0 or -errno. */
int gzip_write(struct gzip *gzip, const void *data, size_t length);

/* Write the end of the stream and free GZIP, also when it fails. Returns 0 or -errno. */
int gzip_close(struct gzip *gzip);

#endif
