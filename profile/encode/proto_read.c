/* Protocol buffers reader, field by field. */
#include "profile/encode/proto_read.h"

#include "profile/encode/proto.h"

static bool read_varint(struct proto_reader *reader, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
		uint8_t byte = *reader->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool read_fixed(struct proto_reader *reader, uint64_t *value, size_t bytes)
{
	if ((size_t)(reader->end - reader->at) < bytes)
		return false;
	*value = 0;
	for (size_t i = 0; i < bytes; i++)
		*value |= (uint64_t)*reader->at++ << 8 * i;
	return true;
}

bool proto_next(struct proto_reader *reader, struct proto_field *field)
{
	uint64_t tag;

	*field = (struct proto_field){ 0 };
	if (!read_varint(reader, &tag) || tag >> 3 > UINT32_MAX || !(tag >> 3))
		return false;
	field->number = (unsigned int)(tag >> 3);
	switch (tag & 7) {
	case PROTO_VARINT:
		return read_varint(reader, &field->value);
	case PROTO_FIXED64:
		return read_fixed(reader, &field->value, 8);
	case PROTO_FIXED32:
		return read_fixed(reader, &field->value, 4);
	case PROTO_BYTES:
		if (!read_varint(reader, &field->value) ||
		    field->value > (uint64_t)(reader->end - reader->at))
			return false;
		field->data = reader->at;
		field->length = (size_t)field->value;
		reader->at += field->length;
		return true;
	default:
		return false;
	}
}

bool proto_next_packed(struct proto_reader *reader, uint64_t *value)
{
	return reader->at < reader->end && read_varint(reader, value);
}
