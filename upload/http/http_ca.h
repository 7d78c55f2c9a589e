/* Certificate authorities that verify servers. */
#ifndef UPLOAD_HTTP_HTTP_CA_H
#define UPLOAD_HTTP_HTTP_CA_H

#include "core/buf.h"

/* Larger than the bundle of any distribution. */
#define HTTP_CA_MAX (8u << 20)

/* Append the PEM file PATH to OUT; if PATH is NULL, the bundle of the distribution. Returns 0 or
 * -errno. */
int http_ca_read(struct buf *out, const char *path);

#endif
