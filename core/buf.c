/* Growable byte buffer with a maximum size. */
#include "core/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int buf_fail(struct buf *buf, int err)
{
	if (!buf->err)
		buf->err = err;
	return err;
}

int buf_reserve(struct buf *buf, size_t more)
{
	size_t need, capacity;
	uint8_t *data;

	if (more > buf->max || buf->length > buf->max - more)
		return buf_fail(buf, -EFBIG);
	need = buf->length + more;
	if (need <= buf->capacity)
		return 0;

	capacity = buf->capacity ? buf->capacity : 64;
	while (capacity < need)
		capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;
	if (capacity > buf->max)
		capacity = buf->max;
	data = realloc(buf->data, capacity);
	if (!data)
		return buf_fail(buf, -ENOMEM);
	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

int buf_append(struct buf *buf, const void *data, size_t length)
{
	int err = buf_reserve(buf, length);

	if (err)
		return err;
	if (length)
		memcpy(buf->data + buf->length, data, length);
	buf->length += length;
	return 0;
}

int buf_append_string(struct buf *buf, const char *string)
{
	return buf_append(buf, string, strlen(string));
}

int buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	int length, err;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0)
		return buf_fail(buf, -EINVAL);
	err = buf_reserve(buf, (size_t)length + 1); /* vsnprintf writes a NUL */
	if (err)
		return err;
	va_start(args, format);
	vsnprintf((char *)buf->data + buf->length, (size_t)length + 1, format, args);
	va_end(args);
	buf->length += (size_t)length;
	return 0;
}

int buf_append_file(struct buf *buf, int fd)
{
	char block[4096];
	ssize_t n;
	int err = 0;

	while (!err && (n = read(fd, block, sizeof(block))))
		err = n < 0 ? -errno : buf_append(buf, block, (size_t)n);
	return err;
}

const char *buf_string(struct buf *buf)
{
	if (buf_reserve(buf, 1))
		return NULL;
	buf->data[buf->length] = '\0';
	return (const char *)buf->data;
}

void buf_reset(struct buf *buf)
{
	buf->length = 0;
	buf->err = 0;
}

void buf_free(struct buf *buf)
{
	free(buf->data);
	buf->data = NULL;
	buf->length = buf->capacity = 0;
	buf->err = 0;
}
