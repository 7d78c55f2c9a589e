/* Protocol buffers, as far as profile.proto and OTLP's profiles need them: fields appended to a buffer.
 * All return 0 or -errno. */
#ifndef PROFILE_ENCODE_PROTO_H
#define PROFILE_ENCODE_PROTO_H

#include "core/buf.h"

int proto_varint(struct buf *out, uint64_t value);                  /* without a field number */
int proto_int(struct buf *out, unsigned field, int64_t value);      /* nothing for 0, the default */
int proto_fixed64(struct buf *out, unsigned field, uint64_t value); /* likewise */
int proto_bytes(struct buf *out, unsigned field, const void *data, size_t length);
int proto_string(struct buf *out, unsigned field, const char *text); /* also where it is "" */
int proto_message(struct buf *out, unsigned field, const struct buf *message);

#endif
