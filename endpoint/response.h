/* One HTTP response: status, headers and body. */
#ifndef ENDPOINT_RESPONSE_H
#define ENDPOINT_RESPONSE_H

#include "core/buf.h"

/* Maximum bytes of a body, such as the recording of a large program. It also limits the sum of all bodies that wait to
 * be sent. */
#define RESPONSE_MAX ((size_t)64 << 20)

struct response {
	int status;
	const char *type;     /* Content-Type, a constant */
	const char *encoding; /* "gzip", or NULL */
	const char *allow;    /* with status 405: the allowed methods; else NULL */
	char truncated[96];   /* why the recording is shorter than requested; "": it is not */
	char note[160];       /* why the intervals are not the requested ones; "": they are */
	struct buf body;
};

#define RESPONSE_INIT                                                             \
	{                                                                         \
		.status = 200, .type = TEXT_PLAIN, .body = BUF_INIT(RESPONSE_MAX) \
	}

#define TEXT_PLAIN "text/plain; charset=utf-8"
#define TEXT_HTML  "text/html; charset=utf-8"

/* Set the status, and replace the body by one line of text. Returns STATUS. */
int response_set_text(struct response *response, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Write the status line and the headers to HEAD, a buffer of a few KiB. Returns 0 or -errno. */
int response_write_head(const struct response *response, struct buf *head);

/* Append TEXT to BODY as a quoted JSON string. Returns 0 or -errno. */
int response_append_json(struct buf *body, const char *text);

#endif
