/* Protocol buffers, as far as pprof's profile.proto needs them. */
#include "profile/pprof/proto.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

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
	err = proto_varint(out, field << 3 | WIRE_VARINT);
	return err ? err : proto_varint(out, (uint64_t)value);
}

int proto_message(struct buf *out, unsigned field, const struct buf *message)
{
	int err = proto_varint(out, field << 3 | WIRE_BYTES);

	if (!err)
		err = proto_varint(out, message->length);
	return err ? err : buf_append(out, message->data, message->length);
}
