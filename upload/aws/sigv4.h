/* AWS Signature Version 4 in the headers of a request. */
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
	int64_t now; /* seconds since 1970, by the server's clock */
};

#define SIGV4_HASH_SIZE 65

/* The SHA-256 of DATA in hexadecimal. Returns 0 or -EIO. */
int sigv4_hash(char out[SIGV4_HASH_SIZE], const void *data, size_t length);

/* Sign REQUEST. It is complete except for x-amz-date, x-amz-content-sha256 (the hash of the
 * body), x-amz-security-token and authorization, which are added. All headers are signed. A
 * query in the URL must be sorted and encoded. Returns 0 or -errno. */
int sigv4_sign(struct http_request *request, const struct sigv4 *with);

#endif
