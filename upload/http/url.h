/* URLs: parse, and percent-encode for S3's signatures. */
#ifndef UPLOAD_HTTP_URL_H
#define UPLOAD_HTTP_URL_H

#include <stdbool.h>

#include "core/buf.h"

struct url {
	bool https;
	char host[256]; /* lower case; an IPv6 address without its brackets */
	bool ipv6;
	unsigned int port; /* the scheme's default if none is written */
	bool port_written;
	const char *path; /* points into the text; "" or starts with '/', '?' or '#' */
};

/* Parse TEXT, an http or https URL. A URL with a user name is refused: the password would go to
 * an unintended host. Returns 0 or -EINVAL. */
int url_parse(struct url *url, const char *text);

/* True if TEXT is such a URL without query and fragment, so that a path can be appended. */
bool url_is_base(const char *text);

/* Append TEXT, percent-encoded except for A-Z a-z 0-9 - . _ ~ and, with SLASH, '/'. Returns 0 or
 * -errno. */
int url_encode(struct buf *out, const char *text, bool slash);

/* True for 127.0.0.0/8, ::1 and the name localhost. */
bool url_is_loopback(const struct url *url);

#endif
