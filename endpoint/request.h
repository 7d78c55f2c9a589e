/* One HTTP request, as it comes in pieces. What a peer sends is bounded, and is copied before it is looked at. */
#ifndef ENDPOINT_REQUEST_H
#define ENDPOINT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the whole request, of its target, of a header's value that is looked at, and of its body. */
#define REQUEST_MAX        32768
#define REQUEST_TARGET_MAX 2048
#define REQUEST_VALUE_MAX  512
#define REQUEST_BODY_MAX   8192

#define REQUEST_PARSER_SIZE 160

enum request_method { REQUEST_GET, REQUEST_HEAD, REQUEST_POST, REQUEST_OTHER };

struct request {
	enum request_method method;
	char target[REQUEST_TARGET_MAX +
		    1];    /* "/path?query"; the path's end is a NUL once it is complete */
	const char *query; /* behind the question mark; "" without one */
	char authorization[REQUEST_VALUE_MAX + 1];
	char host[REQUEST_VALUE_MAX + 1];
	char accept[REQUEST_VALUE_MAX + 1];
	bool from_page; /* a browser says that it was sent by a page: it has an Origin */
	char body[REQUEST_BODY_MAX + 1];
	size_t body_length;

	/* The reader's own. */
	_Alignas(16) unsigned char parser[REQUEST_PARSER_SIZE]; /* llhttp's */
	size_t length, target_length, name_length, value_length;
	char name[32];
	char *value; /* of the header that is being read; NULL: not wanted */
	bool complete, too_large;
};

void request_init(struct request *request);

/* Take in LENGTH bytes more. Returns 1 when the request is complete (what follows it is not looked at), 0 while
 * it is not, -EFBIG past a bound, or -EBADMSG where it is no HTTP. After 1 or an error there is nothing more
 * to be taken in. */
int request_parse(struct request *request, const char *data, size_t length);

/* The value of NAME in TEXT, "name=value&…", as in a query or a form, with escapes resolved, in OUT. Returns 0,
 * -ENOENT where it is not there, -EFBIG past SIZE, or -EBADMSG for a wrong escape. */
int request_find_field(const char *text, const char *name, char *out, size_t size);

/* Take the next "name=value" off *TEXT, with escapes resolved. Returns 0, -ENOENT at the end, -EFBIG, or
 * -EBADMSG, also where there is no '='. */
int request_next_field(const char **text, char *name, size_t name_size, char *value,
		       size_t value_size);

#endif
