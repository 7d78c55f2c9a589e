/* Amazon's signature, version 4, in a request's headers. */
#ifndef UPLOAD_AWS_SIGV4_H
#define UPLOAD_AWS_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "upload/aws/credentials.h"
#include "upload/http/http.h"

struct sigv4 {
	const struct credentials *credentials;
	const char *region;
	const char *service;
	int64_t now; /* seconds since 1970, as the server sees it */
};

#define SIGV4_HASH_SIZE 65

/* The SHA-256 of DATA in hexadecimal. Returns 0 or -EIO. */
int sigv4_hash(char out[SIGV4_HASH_SIZE], const void *data, size_t length);

/* Sign REQUEST, which is complete but for x-amz-date, x-amz-content-sha256 (the body's hash is
 * signed), x-amz-security-token and authorization: these are added. All headers are signed. A
 * query in the URL must be sorted and encoded. Returns 0 or -errno. */
int sigv4_sign(struct http_request *request, const struct sigv4 *with);

#endif
