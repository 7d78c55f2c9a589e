/* A bucket, as requests see it: each is signed and sent, and sent again where what keeps it from being
 * taken can be mended here (the clock, the credentials, a header that the store does not know), or
 * where the store says that the bucket lies elsewhere. */
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
	struct s3_target *target; /* follows the bucket where it has moved for good */

	/* The rest is the requests' own. */
	bool unconditional; /* the store has shown that it does not know if-none-match */
	bool moved;         /* the target is not as it was found by the settings */
	char said[S3_CAUSE_MAX];
};

struct s3_request {
	const char *method;     /* "PUT", which takes no name that is taken, "HEAD" or "GET" */
	const char *key;        /* not encoded; "" is the bucket itself */
	const char *query;      /* encoded and sorted; NULL: none */
	const struct buf *body; /* NULL: none */
	const char *sha256;     /* the body's, in hexadecimal */

	/* Of a GET. */
	size_t answer_max; /* the most that the answer keeps of the body; 0: HTTP_ANSWER_MAX */
	uint64_t expected; /* bytes, for which there is to be time */
	uint64_t from;     /* the byte to begin at, where the object still has ETAG */
	const char *etag;
	int (*take)(void *arg, long status, const void *data, size_t length); /* see http.h */
	void *take_arg;
};

/* Send REQUEST and see what becomes of it. Returns what s3_judge() makes of the last answer, which is
 * in RESPONSE (free it with http_response_free() in any case); or another -errno where there is none
 * (status 0). Why it failed is said in the log, but only for PUT. *IN_DOUBT: the store may have done it
 * all the same. */
int s3_bucket_ask(struct s3_bucket *bucket, const struct s3_request *request,
		  struct http_response *response, bool *in_doubt);

/* LINE, as an error. CAUSE tells one failure from another; the same is said once, until it is gone. */
void s3_bucket_log_error(struct s3_bucket *bucket, const char *cause, const char *line);

/* All is well: what is said next is news again. */
void s3_bucket_log_recovery(struct s3_bucket *bucket);

#endif
