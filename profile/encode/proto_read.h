/* Protocol buffers reader, field by field, for server responses and imported profiles. Groups are not supported. */
#ifndef PROFILE_ENCODE_PROTO_READ_H
#define PROFILE_ENCODE_PROTO_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto_reader {
	const uint8_t *at, *end;
};

struct proto_field {
	unsigned int number;
	uint64_t value; /* of a varint or a fixed-size number */
	/* Bytes, string or message, in the reader's memory; NULL for numbers. */
	const uint8_t *data;
	size_t length;
};

/* Read the next field. Returns false at the end of the data and at a malformed field. */
bool proto_next(struct proto_reader *reader, struct proto_field *field);

/* Read the next number of a packed list of varints. Returns false at the end, and at a malformed
 * number. */
bool proto_next_packed(struct proto_reader *reader, uint64_t *value);

#endif
