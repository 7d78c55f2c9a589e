/* Protocol buffers writer for profile.proto and OTLP profiles: each function appends one field.
 * All return 0 or -errno. */
#ifndef PROFILE_ENCODE_PROTO_H
#define PROFILE_ENCODE_PROTO_H

#include "core/buf.h"

/* Wire types (https://protobuf.dev/programming-guides/encoding/#structure). */
enum proto_wire_type {
	PROTO_VARINT = 0,
	PROTO_FIXED64 = 1,
	PROTO_BYTES = 2,
	PROTO_FIXED32 = 5,
};

int proto_varint(struct buf *out, uint64_t value);                  /* without a field number */
int proto_int(struct buf *out, unsigned field, int64_t value);      /* 0, the default, is omitted */
int proto_fixed64(struct buf *out, unsigned field, uint64_t value); /* 0 is omitted */
int proto_bytes(struct buf *out, unsigned field, const void *data, size_t length);
int proto_string(struct buf *out, unsigned field, const char *text); /* "" is written */
int proto_message(struct buf *out, unsigned field, const struct buf *message);

#endif
