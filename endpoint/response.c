/* One HTTP response. */
#include "endpoint/response.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory/account.h"
#include "core/text/text_clean.h"

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 413, "Content Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
};

static const char *status_reason(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

int response_set_text(struct response *response, int status, const char *format, ...)
{
	char line[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	response->status = status;
	response->type = TEXT_PLAIN;
	response->encoding = NULL;
	response->truncated[0] = '\0';
	buf_reset(&response->body);
	buf_printf(&response->body, "%s\n", line);
	return status;
}

int response_set_file(struct response *response, int fd)
{
	struct stat st;

	response->file = fd;
	if (fstat(fd, &st))
		return -errno;
	response->file_bytes = (size_t)st.st_size;
	return 0;
}

size_t response_length(const struct response *response)
{
	return response->file >= 0 ? response->file_bytes : response->body.length;
}

ssize_t response_send(const struct response *response, int fd, size_t at)
{
	size_t left = response_length(response) - at;
	char piece[16384];
	ssize_t length;

	if (response->file < 0)
		return send(fd, response->body.data + at, left, MSG_DONTWAIT | MSG_NOSIGNAL);
	length = pread(response->file, piece, left < sizeof(piece) ? left : sizeof(piece),
		       (off_t)at);
	return length > 0 ? send(fd, piece, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) : -1;
}

void response_free(struct response *response)
{
	buf_free(&response->body);
	if (response->file >= 0) {
		memory_add_capture(-(int64_t)response->file_bytes);
		close(response->file);
	}
	response->file = -1;
}

/* No page of another site may frame or embed a response. The endpoint's HTML loads nothing: scripts and styles are
 * inline. */
#define POLICY      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define POLICY_HTML POLICY "; script-src 'unsafe-inline'; style-src 'unsafe-inline'"

int response_write_head(const struct response *response, struct buf *head)
{
	int err = buf_printf(head,
			     "HTTP/1.1 %d %s\r\n"
			     "Content-Type: %s\r\n"
			     "Content-Length: %zu\r\n"
			     "Connection: close\r\n"
			     "Cache-Control: no-store\r\n"
			     "X-Content-Type-Options: nosniff\r\n"
			     "X-Frame-Options: DENY\r\n"
			     "Cross-Origin-Resource-Policy: same-origin\r\n"
			     "Content-Security-Policy: %s\r\n",
			     response->status, status_reason(response->status), response->type,
			     response_length(response),
			     strcmp(response->type, TEXT_HTML) ? POLICY : POLICY_HTML);

	if (!err && response->encoding)
		err = buf_printf(head, "Content-Encoding: %s\r\n", response->encoding);
	if (!err && response->truncated[0])
		err = buf_printf(head, "Asprof-Agent-Truncated: %s\r\n", response->truncated);
	if (!err && response->note[0])
		err = buf_printf(head, "Asprof-Agent-Note: %s\r\n", response->note);
	if (!err && response->allow)
		err = buf_printf(head, "Allow: %s\r\n", response->allow);
	if (!err && response->status == 401)
		err = buf_append_string(head, "WWW-Authenticate: Bearer\r\n");
	return err ? err : buf_append_string(head, "\r\n");
}

void response_append_escaped(struct buf *body, const char *text, response_escape *escape,
			     const char *replacement)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
	size_t length;

	for (; p < end; p += length + !length) {
		length = utf8_length(p, (size_t)(end - p));
		if (!length)
			buf_append_string(body, replacement);
		else if (length > 1 || !escape(body, *p))
			buf_append(body, p, length);
	}
}

static bool escape_json(struct buf *body, uint8_t c)
{
	if (c == '"' || c == '\\')
		buf_printf(body, "\\%c", c);
	else if (c < ' ' || c == 0x7f)
		buf_printf(body, "\\u%04x", c);
	else
		return false;
	return true;
}

void response_append_json(struct buf *body, const char *text)
{
	buf_append_string(body, "\"");
	response_append_escaped(body, text, escape_json, "\\ufffd");
	buf_append_string(body, "\"");
}
