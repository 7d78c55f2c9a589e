/* Reading protocol buffers field by field, as far as short answers of servers need it. */
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
	uint64_t value; /* of a varint or a fixed number */
	const uint8_t *
		data; /* of bytes, a string or a message, which point into what is read; else NULL */
	size_t length;
};

/* The next field; false at the end, or where there is none that can be read. */
bool proto_next(struct proto_reader *reader, struct proto_field *field);

#endif
