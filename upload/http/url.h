/* URLs: taken apart, and percent-encoded as S3's signatures want it. */
#ifndef UPLOAD_HTTP_URL_H
#define UPLOAD_HTTP_URL_H

#include <stdbool.h>

#include "core/buf.h"

struct url {
	bool https;
	char host[256]; /* lower case; an IPv6 address without its brackets */
	bool ipv6;
	unsigned int port; /* the scheme's own where none is written */
	bool port_written;
	const char *path; /* points into the text; "" or begins with '/', '?' or '#' */
};

/* Take TEXT, an http or https URL, apart. A user name in it is refused: it would be sent to
 * nobody knows whom. Returns 0 or -EINVAL. */
int url_parse(struct url *url, const char *text);

/* True where TEXT is such a URL, and what is put behind it is its path: it has neither a query nor a
 * fragment. */
bool url_is_base(const char *text);

/* Append TEXT, percent-encoded but for A-Z a-z 0-9 - . _ ~ and, with SLASH, '/'. */
int url_encode(struct buf *out, const char *text, bool slash);

/* True for 127.0.0.0/8, ::1, and the name localhost. */
bool url_is_loopback(const struct url *url);

#endif
