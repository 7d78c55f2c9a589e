/* HTTP as the uploads need it: one request, one answer. What sends is a table, so that tests
 * answer in its place. */
#ifndef UPLOAD_HTTP_HTTP_H
#define UPLOAD_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

#define HTTP_HEADERS_MAX 16

/* An answer's body beyond this is not read: errors and credentials are small. */
#define HTTP_ANSWER_MAX (1u << 20)

struct http_header {
	char *name; /* lower case */
	char *value;
};

/* Start with HTTP_REQUEST_INIT, add, send, free. */
struct http_request {
	const char *method;
	struct buf url; /* percent-encoded; sent as it is */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t header_count;
	const void *body; /* the caller's */
	size_t body_length;
	uint64_t connect_timeout_ms;
	uint64_t timeout_ms; /* of the whole */
	const char *proxy;   /* NULL: none, whatever the environment says */
	bool keep;           /* the connection, for the next request to the same server */

	/* Takes the body of an answer of STATUS 200 or 206 piece by piece, in the place of the
	 * answer's; not 0 ends the request with -EFBIG. NULL: the answer keeps it. */
	int (*take)(void *arg, long status, const void *data, size_t length);
	void *take_arg;
};

#define HTTP_REQUEST_INIT(m, connect_ms, whole_ms)                                        \
	{                                                                                 \
		.method = (m), .url = BUF_INIT(8192), .connect_timeout_ms = (connect_ms), \
		.timeout_ms = (whole_ms)                                                  \
	}

struct http_response {
	long status;
	struct buf body;
	int64_t date;        /* the server's, seconds since 1970; 0 where it did not say */
	int64_t length;      /* content-length; 0 where it did not say */
	int64_t retry_after; /* seconds; 0 where it did not say */
	char region[32];     /* x-amz-bucket-region; "" where it did not say, as below */
	char sha256[65];     /* x-amz-meta-sha256 */
	char location[4096];
	char problem[256]; /* without an answer: why */
	/* The whole request was sent, and nothing came of an answer: the server may have done what it asks for. Also where it was
	 * sent once more then, over another connection, and is answered. */
	bool unanswered;
};

#define HTTP_RESPONSE_INIT                        \
	{                                         \
		.body = BUF_INIT(HTTP_ANSWER_MAX) \
	}

struct http {
	/* Send REQUEST and wait for the answer. No words hold a secret of its URLs. Returns 0 with whatever status came; or, with
	 * words in RESPONSE->problem, -ETIMEDOUT, -ECONNREFUSED, -EHOSTUNREACH (no such name),
	 * -EPROTO (TLS: the server is not who it should be), -ECANCELED or another -errno. */
	int (*send)(struct http *http, const struct http_request *request,
		    struct http_response *response);
	void (*close)(struct http *http);
};

/* Add NAME (lower case) with a value made from FORMAT. Returns 0, -ENOMEM, -E2BIG past
 * HTTP_HEADERS_MAX, or -EINVAL for a value with control characters: a line break would be another
 * header. */
int http_request_header(struct http_request *request, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Release what REQUEST and RESPONSE hold, and wipe it: tokens come and go in both. */
void http_request_free(struct http_request *request);
void http_response_free(struct http_response *response);

/* The content of the first <TAG> in an XML answer, malloc'd, or NULL where it is empty or not
 * there. Knows no more of XML than the answers of S3 and STS need. */
char *http_xml_text(const struct http_response *response, const char *tag);

/* The answer's body as a C string. */
const char *http_text(struct http_response *response);

#endif
