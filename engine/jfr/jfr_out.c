/* Buffered output to a file; the first error is kept. */
#include "engine/jfr/jfr_out.h"

#include "core/fd.h"
#include "engine/jfr/jfr_encode.h"
#include "engine/jfr/jfr_limits.h"

void jfr_out_seek(struct jfr_out *out, off_t offset)
{
	out->offset = offset;
	out->length = 0;
	out->err = 0;
}

int jfr_out_flush(struct jfr_out *out)
{
	if (!out->err && out->length)
		out->err = fd_write(out->fd, out->data, out->length, out->offset);
	if (!out->err)
		out->offset += out->length;
	out->length = 0;
	return out->err;
}

uint8_t *jfr_out_room(struct jfr_out *out, size_t length)
{
	if (length > sizeof(out->data) - out->length)
		jfr_out_flush(out);
	return out->err ? NULL : out->data + out->length;
}

void jfr_out_varint(struct jfr_out *out, uint64_t value)
{
	uint8_t *p = jfr_out_room(out, JFR_VARINT_MAX);

	if (p)
		jfr_out_commit(out, jfr_put_varint(p, value));
}

void jfr_out_string(struct jfr_out *out, const char *string)
{
	size_t length = string ? jfr_string_length(string, JFR_STRING_MAX) : 0;
	uint8_t *p = jfr_out_room(out, 1 + JFR_VARINT_MAX + length);

	if (!p)
		return;
	if (string)
		p = jfr_put_bytes(p, JFR_STRING_UTF8, string, length);
	else
		*p++ = JFR_STRING_NULL;
	jfr_out_commit(out, p);
}

void jfr_out_bytes(struct jfr_out *out, const void *data, size_t length)
{
	const uint8_t *from = data;
	size_t part;
	uint8_t *p;

	for (; length; from += part, length -= part) {
		part = length < sizeof(out->data) ? length : sizeof(out->data);
		p = jfr_out_room(out, part);
		if (!p)
			return;
		memcpy(p, from, part);
		jfr_out_commit(out, p + part);
	}
}

void jfr_out_patch(struct jfr_out *out, const void *data, size_t length, off_t offset)
{
	if (!out->err)
		out->err = fd_write(out->fd, data, length, offset);
}
