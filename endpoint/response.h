/* What is answered to a request. */
#ifndef ENDPOINT_RESPONSE_H
#define ENDPOINT_RESPONSE_H

#include "core/buf.h"

/* A profile of a large program, or its recording. */
#define RESPONSE_MAX ((size_t)128 << 20)

struct response {
	int status;
	const char *type;     /* of the content: a constant */
	const char *encoding; /* "gzip", or NULL */
	const char *allow;    /* with 405: the methods that there are */
	struct buf body;
};

#define RESPONSE_INIT                                                             \
	{                                                                         \
		.status = 200, .type = TEXT_PLAIN, .body = BUF_INIT(RESPONSE_MAX) \
	}

#define TEXT_PLAIN "text/plain; charset=utf-8"

/* Make it STATUS, with one line of TEXT and nothing else. Returns STATUS. */
int response_set_text(struct response *response, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Its head, for HTTP/1.1, in HEAD, a buffer with some KiB of room. Returns 0 or -errno. */
int response_write_head(const struct response *response, struct buf *head);

/* Append TEXT as a string of JSON, with its quotes. Returns 0 or -errno. */
int response_append_json(struct buf *body, const char *text);

#endif
