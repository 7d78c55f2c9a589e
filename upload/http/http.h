/* HTTP for the uploads: one request, one response. The sender is a table of functions, so that
 * tests can replace it. */
#ifndef UPLOAD_HTTP_HTTP_H
#define UPLOAD_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

#define HTTP_HEADERS_MAX 16

/* Longest body of a response; errors and credentials are small. */
#define HTTP_ANSWER_MAX (1u << 20)

struct http_header {
	char *name; /* lower case */
	char *value;
};

/* Initialize with HTTP_REQUEST_INIT, add headers, send, free. */
struct http_request {
	const char *method;
	struct buf url; /* percent-encoded; sent unchanged */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t header_count;
	const void *body; /* owned by the caller */
	size_t body_length;
	uint64_t connect_timeout_ms;
	uint64_t timeout_ms;  /* for the whole request */
	const char *proxy;    /* NULL: none; the environment is ignored */
	bool keep_connection; /* keep it open for the next request to the same server */

	/* Receives the body of a response with status 200 or 206 in parts. The body then is not
	 * stored in the response. A nonzero result ends the request with -EFBIG. NULL: the
	 * response stores the body. */
	int (*take)(void *arg, long status, const void *data, size_t length);
	void *take_arg;
};

#define HTTP_REQUEST_INIT(m, connect_ms, whole_ms)                                        \
	{                                                                                 \
		.method = (m), .url = BUF_INIT(8192), .connect_timeout_ms = (connect_ms), \
		.timeout_ms = (whole_ms)                                                  \
	}

struct http_response {
	long status; /* of the final response, from 200 on; also if its body was lost; 0: none */
	struct buf body;
	int64_t date;        /* the server's time, seconds since 1970; 0: not sent */
	int64_t length;      /* content-length; 0: not sent */
	int64_t retry_after; /* seconds; 0: not sent */
	char region[32];     /* x-amz-bucket-region; "": not sent, like the members below */
	char sha256[65];     /* x-amz-meta-sha256 */
	char location[4096];
	char problem[256]; /* error text if there is no response */
	/* The whole request was sent and its response was lost: the server may have executed it.
	 * Also true if the request was then sent again over another connection and answered. */
	bool unanswered;
};

#define HTTP_RESPONSE_INIT                        \
	{                                         \
		.body = BUF_INIT(HTTP_ANSWER_MAX) \
	}

struct http {
	/* Send REQUEST and wait for the response. Returns 0 for any status. Otherwise returns
	 * -errno and sets RESPONSE->problem, which contains no secret of a URL:
	 * * -ETIMEDOUT, -ECONNREFUSED;
	 * * -EHOSTUNREACH: the host name does not exist;
	 * * -EPROTO: TLS cannot verify the server;
	 * * -ECANCELED: stopped;
	 * * another -errno. */
	int (*send)(struct http *http, const struct http_request *request,
		    struct http_response *response);
	void (*close)(struct http *http);
};

/* Add the header NAME (lower case) with a value made from FORMAT. Returns 0, -ENOMEM, -E2BIG
 * beyond HTTP_HEADERS_MAX, or -EINVAL if the value contains control characters: a line break
 * would start another header. */
int http_request_header(struct http_request *request, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Free the members of REQUEST or RESPONSE and wipe them, because both may contain tokens. */
void http_request_free(struct http_request *request);
void http_response_free(struct http_response *response);

/* The content of the first <TAG> in an XML response, malloc'd; NULL if it is empty or missing.
 * Parses only the subset of XML that S3 and STS send. */
char *http_xml_text(const struct http_response *response, const char *tag);

/* The body of the response as a C string. */
const char *http_text(struct http_response *response);

#endif
