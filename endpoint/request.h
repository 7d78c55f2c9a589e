/* One HTTP request, parsed as its bytes arrive. All sizes are bounded. */
#ifndef ENDPOINT_REQUEST_H
#define ENDPOINT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

/* Maximum bytes of a request, its target, a stored header value, and its body. */
#define REQUEST_MAX        32768
#define REQUEST_TARGET_MAX 2048
#define REQUEST_VALUE_MAX  512
#define REQUEST_BODY_MAX   8192

#define REQUEST_PARSER_SIZE 160

enum request_method { REQUEST_GET, REQUEST_HEAD, REQUEST_POST, REQUEST_OTHER };

struct request {
	enum request_method method;
	char target[REQUEST_TARGET_MAX + 1]; /* "/path?query"; only the path once it is complete */
	const char *query;                   /* the part after the question mark; "" without one */
	char authorization[REQUEST_VALUE_MAX + 1];
	char host[REQUEST_VALUE_MAX + 1];
	char accept[REQUEST_VALUE_MAX + 1];
	char fetch_site[REQUEST_VALUE_MAX + 1];
	bool has_origin;     /* a browser sent it for a script or a form of a web page */
	bool has_fetch_site; /* a browser sent it; fetch_site relates its initiator to this server */
	char body[REQUEST_BODY_MAX + 1];
	size_t body_length;

	/* Private state of the parser. */
	_Alignas(16) unsigned char parser[REQUEST_PARSER_SIZE]; /* llhttp_t */
	size_t length, target_length, name_length, value_length;
	char name[32];
	char *value;           /* where the current header is stored; NULL: it is not */
	unsigned headers_seen; /* one bit for each row of the header table */
	bool complete, is_too_large, has_duplicate_header;
};

void request_init(struct request *request);

/* Parse the next LENGTH bytes of DATA. After a result other than 0 it must not be called again. Returns:
 *
 * * 1 when the request is complete; bytes after it are ignored;
 * * 0 when more bytes are needed;
 * * -EFBIG when a size limit is exceeded;
 * * -EEXIST when a header that may appear once, such as Host, appears twice;
 * * -EBADMSG when DATA is not HTTP. */
int request_parse(struct request *request, const char *data, size_t length);

/* Copy the decoded value of the field NAME in TEXT to OUT. TEXT is a query or a form, "name=value&…". Returns 0,
 * -ENOENT without such a field, -EFBIG when it exceeds SIZE, or -EBADMSG for an invalid escape. */
int request_find_field(const char *text, const char *name, char *out, size_t size);

/* Decode the next field, "name=value", and advance *TEXT. Fields are separated by '&' or line ends. Returns 0,
 * -ENOENT at the end, -EFBIG, or -EBADMSG for an invalid escape or a missing '='. */
int request_next_field(const char **text, char *name, size_t name_size, char *value,
		       size_t value_size);

#endif
