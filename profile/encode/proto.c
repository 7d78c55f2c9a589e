/* Protocol buffers writer for profile.proto and OTLP profiles. */
#include "profile/encode/proto.h"

#include <string.h>

int proto_varint(struct buf *out, uint64_t value)
{
	uint8_t bytes[10];
	size_t length = 0;

	while (value >= 0x80) {
		bytes[length++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[length++] = (uint8_t)value;
	return buf_append(out, bytes, length);
}

int proto_int(struct buf *out, unsigned field, int64_t value)
{
	int err;

	if (!value)
		return 0;
	err = proto_varint(out, field << 3 | PROTO_VARINT);
	return err ? err : proto_varint(out, (uint64_t)value);
}

int proto_fixed64(struct buf *out, unsigned field, uint64_t value)
{
	uint8_t bytes[8];
	int err;

	if (!value)
		return 0;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	err = proto_varint(out, field << 3 | PROTO_FIXED64);
	return err ? err : buf_append(out, bytes, sizeof(bytes));
}

int proto_bytes(struct buf *out, unsigned field, const void *data, size_t length)
{
	int err = proto_varint(out, field << 3 | PROTO_BYTES);

	if (!err)
		err = proto_varint(out, length);
	return err ? err : buf_append(out, data, length);
}

int proto_string(struct buf *out, unsigned field, const char *text)
{
	return proto_bytes(out, field, text, strlen(text));
}

int proto_message(struct buf *out, unsigned field, const struct buf *message)
{
	return proto_bytes(out, field, message->data, message->length);
}
