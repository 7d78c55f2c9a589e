/* Redirects of a store. */
#ifndef UPLOAD_S3_S3_REDIRECT_H
#define UPLOAD_S3_S3_REDIRECT_H

#include "upload/http/http.h"

/* The base URL of BUCKET to which RESPONSE redirects a request for KEY that went to BASE. Either
 * URL has the bucket as the first label of its host, or as its path. The response names the new one
 * by a Location that ends in the same key, or by a host in <Endpoint> (Amazon). Returns it
 * malloc'd, or NULL without a redirect or if it is not allowed.
 *
 * The new host receives the signature, the session token and the report. So these are allowed only:
 *
 *	- the same host, on any port;
 *	- the endpoint's host, which is BASE's host without the bucket, or a host whose name ends
 *	  in a dot and that name; neither may be an IP address;
 *	- from one of Amazon's hosts for S3 to another of these, for the same bucket.
 *
 * A redirect from https to http, or to a URL with a user name, is refused. Only 301, 307 and 308
 * count, because they keep a PUT a PUT. A query or fragment is dropped. */
char *s3_redirect(const char *base, const char *bucket, const char *key,
		  const struct http_response *response);

#endif
