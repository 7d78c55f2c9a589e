/* One HTTP response: status, headers and body. */
#ifndef ENDPOINT_RESPONSE_H
#define ENDPOINT_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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
	int file; /* a capture's file that is the body, owned; -1: none */
	size_t file_bytes;
};

#define RESPONSE_INIT                                                                         \
	{                                                                                     \
		.status = 200, .type = TEXT_PLAIN, .body = BUF_INIT(RESPONSE_MAX), .file = -1 \
	}

#define TEXT_PLAIN "text/plain; charset=utf-8"
#define TEXT_HTML  "text/html; charset=utf-8"

/* Set the status, and replace the body by one line of text. Returns STATUS. */
int response_set_text(struct response *response, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Let the file FD of a capture be the body: its bytes stay in the account of captures. FD belongs to RESPONSE afterwards.
 * Returns 0 or -errno. */
int response_set_file(struct response *response, int fd);

/* Bytes of the body. */
size_t response_length(const struct response *response);

/* Send bytes of the body from AT on to the socket FD. Returns their number, or -1 with errno. */
ssize_t response_send(const struct response *response, int fd, size_t at);

/* Free the body, and close the file. */
void response_free(struct response *response);

/* Write the status line and the headers to HEAD, a buffer of a few KiB. Returns 0 or -errno. */
int response_write_head(const struct response *response, struct buf *head);

/* Append the ASCII character C in its escaped form. Returns false if it has none; then BODY is unchanged. */
typedef bool response_escape(struct buf *body, uint8_t c);

/* Append TEXT to BODY with the forms of ESCAPE, and REPLACEMENT for each invalid byte of UTF-8. BODY remembers an
 * error. */
void response_append_escaped(struct buf *body, const char *text, response_escape *escape,
			     const char *replacement);

/* Append TEXT to BODY as a quoted JSON string, with U+FFFD for each invalid byte of UTF-8. BODY remembers an error. */
void response_append_json(struct buf *body, const char *text);

#endif
