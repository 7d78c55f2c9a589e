/* HTTP requests and responses, independent of the transport. */
#include "upload/http/http.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/secret.h"

/* A line break would start another header; other control characters are invalid too. */
static bool http_is_plain(const char *value)
{
	for (; *value; value++)
		if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
			return false;
	return true;
}

int http_request_header(struct http_request *request, const char *name, const char *format, ...)
{
	struct http_header *header = &request->headers[request->header_count];
	va_list args;
	int length;

	if (request->header_count == HTTP_HEADERS_MAX)
		return -E2BIG;
	va_start(args, format);
	length = vasprintf(&header->value, format, args);
	va_end(args);
	if (length < 0)
		return -ENOMEM;
	if (!http_is_plain(header->value)) {
		secret_free(header->value);
		return -EINVAL;
	}
	header->name = strdup(name);
	if (!header->name) {
		secret_free(header->value);
		return -ENOMEM;
	}
	request->header_count++;
	return 0;
}

void http_request_free(struct http_request *request)
{
	for (size_t i = 0; i < request->header_count; i++) {
		free(request->headers[i].name);
		secret_free(request->headers[i].value);
	}
	request->header_count = 0;
	buf_free(&request->url);
}

void http_response_free(struct http_response *response)
{
	secret_buf_free(&response->body);
}

const char *http_text(struct http_response *response)
{
	const char *text = buf_string(&response->body);

	return text ? text : "";
}

char *http_xml_text(const struct http_response *response, const char *tag)
{
	const char *start, *end, *text = (const char *)response->body.data;
	size_t length = response->body.length, tag_length = strlen(tag);
	char open[64];

	if (!text || tag_length + 3 > sizeof(open))
		return NULL;
	snprintf(open, sizeof(open), "<%s>", tag);
	start = memmem(text, length, open, tag_length + 2);
	if (!start)
		return NULL;
	start += tag_length + 2;
	end = memchr(start, '<', length - (size_t)(start - text));
	return end && end > start ? strndup(start, (size_t)(end - start)) : NULL;
}
