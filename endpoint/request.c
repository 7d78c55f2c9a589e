/* One HTTP request, parsed by llhttp. */
#include "endpoint/request.h"

#include <errno.h>
#include <llhttp.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "core/text/hex.h"

_Static_assert(sizeof(llhttp_t) <= REQUEST_PARSER_SIZE, "REQUEST_PARSER_SIZE is too small");

/* Headers that the endpoint uses. Some identify the client or delimit the request. If such a header appears twice,
 * a proxy may use the first value and this server the last; so it may appear once only. */
static const struct header {
	const char *name;
	bool is_unique;
	size_t value; /* offset of the stored value; 0: not stored */
} headers[] = {
	{ "Accept", false, offsetof(struct request, accept) },
	{ "Authorization", true, offsetof(struct request, authorization) },
	{ "Content-Length", true, 0 },
	{ "Host", true, offsetof(struct request, host) },
	{ "Origin", true, 0 },
	{ "Sec-Fetch-Site", true, offsetof(struct request, fetch_site) },
	{ "Transfer-Encoding", true, 0 },
};

static llhttp_t *request_parser(struct request *r)
{
	return (llhttp_t *)(void *)r->parser;
}

static struct request *parser_request(llhttp_t *parser)
{
	return parser->data;
}

static int request_set_too_large(struct request *r)
{
	r->is_too_large = true;
	return HPE_USER;
}

static int on_target(llhttp_t *parser, const char *at, size_t length)
{
	struct request *r = parser_request(parser);

	if (length > REQUEST_TARGET_MAX - r->target_length)
		return request_set_too_large(r);
	memcpy(r->target + r->target_length, at, length);
	r->target_length += length;
	return 0;
}

/* A truncated name matches no header of the table. */
static int on_header_name(llhttp_t *parser, const char *at, size_t length)
{
	struct request *r = parser_request(parser);
	size_t room = sizeof(r->name) - 1 - r->name_length;
	size_t copied = length < room ? length : room;

	memcpy(r->name + r->name_length, at, copied);
	r->name_length += copied;
	return 0;
}

static int on_header_name_complete(llhttp_t *parser)
{
	struct request *r = parser_request(parser);
	const struct header *header = headers,
			    *end = headers + sizeof(headers) / sizeof(headers[0]);
	unsigned bit;

	r->name[r->name_length] = '\0';
	r->name_length = 0;
	r->value_length = 0;
	r->value = NULL;
	while (header < end && strcasecmp(r->name, header->name))
		header++;
	if (header == end)
		return 0;
	bit = 1u << (header - headers);
	if (header->is_unique && r->headers_seen & bit) {
		r->has_duplicate_header = true;
		return HPE_USER;
	}
	r->headers_seen |= bit;
	r->has_origin = r->has_origin || !strcmp(header->name, "Origin");
	r->has_fetch_site = r->has_fetch_site || !strcmp(header->name, "Sec-Fetch-Site");
	if (header->value) {
		r->value = (char *)r + header->value;
		memset(r->value, 0, REQUEST_VALUE_MAX + 1);
	}
	return 0;
}

/* Truncation is harmless for Accept, and a truncated token does not match. */
static int on_header_value(llhttp_t *parser, const char *at, size_t length)
{
	struct request *r = parser_request(parser);
	size_t room = REQUEST_VALUE_MAX - r->value_length;
	size_t copied = length < room ? length : room;

	if (!r->value)
		return 0;
	memcpy(r->value + r->value_length, at, copied);
	r->value_length += copied;
	return 0;
}

/* Remove trailing white space. */
static int on_header_value_complete(llhttp_t *parser)
{
	struct request *r = parser_request(parser);

	while (r->value && r->value_length && strchr(" \t", r->value[r->value_length - 1]))
		r->value[--r->value_length] = '\0';
	return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t length)
{
	struct request *r = parser_request(parser);

	if (length > REQUEST_BODY_MAX - r->body_length)
		return request_set_too_large(r);
	memcpy(r->body + r->body_length, at, length);
	r->body_length += length;
	return 0;
}

static int on_request_complete(llhttp_t *parser)
{
	struct request *r = parser_request(parser);
	char *query;

	switch (llhttp_get_method(parser)) {
	case HTTP_GET:
		r->method = REQUEST_GET;
		break;
	case HTTP_HEAD:
		r->method = REQUEST_HEAD;
		break;
	case HTTP_POST:
		r->method = REQUEST_POST;
		break;
	default:
		r->method = REQUEST_OTHER;
		break;
	}
	query = strchr(r->target, '?');
	r->query = query ? query + 1 : "";
	if (query)
		*query = '\0';
	r->complete = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_url = on_target,
	.on_header_field = on_header_name,
	.on_header_field_complete = on_header_name_complete,
	.on_header_value = on_header_value,
	.on_header_value_complete = on_header_value_complete,
	.on_body = on_body,
	.on_message_complete = on_request_complete,
};

void request_init(struct request *request)
{
	memset(request, 0, sizeof(*request));
	llhttp_init(request_parser(request), HTTP_REQUEST, &settings);
	request_parser(request)->data = request;
	request->query = "";
}

int request_parse(struct request *request, const char *data, size_t length)
{
	if (length > REQUEST_MAX - request->length)
		return -EFBIG;
	request->length += length;
	/* (A request to upgrade the protocol also pauses; the upgrade is ignored.) */
	if (llhttp_execute(request_parser(request), data, length) && !request->complete)
		return request->is_too_large           ? -EFBIG
		       : request->has_duplicate_header ? -EEXIST
						       : -EBADMSG;
	return request->complete;
}

/* Decode the escapes of TEXT up to END. An escaped NUL is an error. */
static int field_decode(const char *text, const char *end, char *out, size_t size)
{
	size_t length = 0;

	for (; text < end; text++) {
		int c = (unsigned char)*text;

		if (c == '+') {
			c = ' ';
		} else if (c == '%') {
			if (end - text < 3 || hex_digit(text[1]) < 0 || hex_digit(text[2]) < 0)
				return -EBADMSG;
			c = hex_digit(text[1]) << 4 | hex_digit(text[2]);
			text += 2;
		}
		if (!c)
			return -EBADMSG;
		if (length + 1 >= size)
			return -EFBIG;
		out[length++] = (char)c;
	}
	out[length] = '\0';
	return 0;
}

int request_next_field(const char **text, char *name, size_t name_size, char *value,
		       size_t value_size)
{
	const char *from = *text + strspn(*text, "&\r\n"), *end = from + strcspn(from, "&\r\n");
	const char *equals = memchr(from, '=', (size_t)(end - from));
	int err;

	if (!*from)
		return -ENOENT;
	*text = end;
	if (!equals)
		return -EBADMSG;
	err = field_decode(from, equals, name, name_size);
	return err ? err : field_decode(equals + 1, end, value, value_size);
}

int request_find_field(const char *text, const char *name, char *out, size_t size)
{
	char found[64];
	int err;

	do {
		found[0] = '\0';
		err = request_next_field(&text, found, sizeof(found), out, size);
	} while (err != -ENOENT && strcmp(found, name) != 0);
	return err;
}
