/* The certificate authorities by which servers are known. */
#ifndef UPLOAD_HTTP_HTTP_CA_H
#define UPLOAD_HTTP_HTTP_CA_H

#include "core/buf.h"

/* Larger than any distribution's bundle of them. */
#define HTTP_CA_MAX (8u << 20)

/* Append the PEM file PATH to OUT; with NULL, the system's own where distributions keep them.
 * Returns 0 or -errno. */
int http_ca_read(struct buf *out, const char *path);

#endif
