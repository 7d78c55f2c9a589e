/* Protocol buffers, as far as pprof's profile.proto needs them: fields appended to a buffer. All
 * return 0 or -errno. */
#ifndef PROFILE_PPROF_PROTO_H
#define PROFILE_PPROF_PROTO_H

#include "core/buf.h"

int proto_varint(struct buf *out, uint64_t value);             /* without a field number */
int proto_int(struct buf *out, unsigned field, int64_t value); /* nothing for 0, the default */
int proto_message(struct buf *out, unsigned field, const struct buf *message);

#endif
