/* A gzip stream into a file. */
#ifndef PROFILE_PPROF_GZIP_H
#define PROFILE_PPROF_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct gzip;

/* Returns 0 (release with gzip_close) or -ENOMEM. FILE stays the caller's. */
int gzip_open(struct gzip **out, FILE *file);
int gzip_write(struct gzip *gzip, const void *data, size_t length);

/* Write the end. Returns 0 or -errno; GZIP is gone either way. */
int gzip_close(struct gzip *gzip);

#endif
