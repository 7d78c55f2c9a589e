/* Where a store may send a request on to. */
#ifndef UPLOAD_S3_S3_REDIRECT_H
#define UPLOAD_S3_S3_REDIRECT_H

#include "upload/http/http.h"

/* The base URL of BUCKET, malloc'd, that RESPONSE tells a request for KEY to go to, which went to BASE;
 * NULL where it tells none, or one that is not followed. It tells it by a Location that ends in the
 * same key, or as Amazon does by the host in <Endpoint>.
 *
 * The signature, a session's token and the report are shown to that host. So it is followed only to
 *
 *	- the host that was asked, on whatever port;
 *	- a host whose name ends in a dot and that of the endpoint;
 *	- from one of Amazon's hosts for S3 to another of these, and for the same bucket;
 *
 * never from https to http, never with a user's name in it, and for 301, 307 and 308 alone, which do
 * not turn a PUT into a GET. A query or fragment is left out. */
char *s3_redirect(const char *base, const char *bucket, const char *key,
		  const struct http_response *response);

#endif
