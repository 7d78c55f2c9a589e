/* A gzip stream into a file or a buffer. */
#ifndef PROFILE_ENCODE_GZIP_H
#define PROFILE_ENCODE_GZIP_H

#include <stddef.h>
#include <stdio.h>

#include "core/buf.h"

struct gzip;

/* Begin one. FILE and BUF stay the caller's, who has either.
 * Returns 0 (release with gzip_close) or -ENOMEM. */
int gzip_open(struct gzip **out, FILE *file);
int gzip_open_buf(struct gzip **out, struct buf *buf);

int gzip_write(struct gzip *gzip, const void *data, size_t length);

/* Write the end. Returns 0 or -errno; GZIP is gone either way. */
int gzip_close(struct gzip *gzip);

#endif
