/* Requests to a bucket: signs and sends each request. It retries after correcting the cause of a
 * refusal: the clock, the credentials, or a header that the store does not support. It follows
 * the bucket to another region or host. */
#ifndef UPLOAD_S3_S3_BUCKET_H
#define UPLOAD_S3_S3_BUCKET_H

#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"
#include "upload/s3/s3_target.h"

#define S3_CAUSE_MAX 80

struct s3_bucket {
	const struct config *config;
	struct aws *aws;
	struct credentials_provider *credentials;
	struct s3_target *target; /* updated if the bucket has moved permanently */

	/* Private to s3_bucket.c. */
	bool unconditional; /* the store does not support if-none-match */
	bool moved;         /* the target differs from the settings */
	char logged_cause[S3_CAUSE_MAX];
};

struct s3_request {
	const char *method;     /* "PUT" (fails if the key exists), "HEAD" or "GET" */
	const char *key;        /* not encoded; "": the bucket itself */
	const char *query;      /* encoded and sorted; NULL: none */
	const struct buf *body; /* NULL: none */
	const char *sha256;     /* of the body, in hexadecimal */

	/* For GET. */
	size_t answer_max; /* most bytes of the body that the response stores; 0: HTTP_ANSWER_MAX */
	uint64_t expected; /* bytes expected; extends the timeout */
	uint64_t from;     /* first byte; requires that the object still has ETAG */
	const char *etag;
	int (*take)(void *arg, long status, const void *data, size_t length); /* see http.h */
	void *take_arg;
};

/* Send REQUEST, with corrections and retries. Returns the result of s3_judge() for the last
 * response; RESPONSE holds it. Without a response (status 0) returns another -errno. Free
 * RESPONSE with http_response_free() in any case.
 *
 * Failures are logged, but only for PUT. *IN_DOUBT: the store may have executed a request that
 * failed. */
int s3_bucket_ask(struct s3_bucket *bucket, const struct s3_request *request,
		  struct http_response *response, bool *in_doubt);

/* Log LINE as an error. CAUSE identifies the failure; it is logged once until another cause or
 * s3_bucket_log_recovery(). */
void s3_bucket_log_error(struct s3_bucket *bucket, const char *cause, const char *line);

/* Log the recovery if an error was logged, and reset. */
void s3_bucket_log_recovery(struct s3_bucket *bucket);

#endif
