/* A profile as OTLP has it: an ExportProfilesServiceRequest of the profiles signal, v1development, as of
 * release 1.11 of the protocol
 * (https://github.com/open-telemetry/opentelemetry-proto/tree/v1.11.0/opentelemetry/proto/profiles). */
#ifndef PROFILE_OTLP_OTLP_WRITE_H
#define PROFILE_OTLP_OTLP_WRITE_H

#include "core/buf.h"
#include "profile/otlp/otlp_message.h"

/* Append MESSAGE to OUT: for each metric a profile of its count or total, or both where they tell
 * different things, with all that they name in one dictionary. Returns 0; -ENODATA where there is no sample; or
 * -errno, -EFBIG past OUT's cap. */
int otlp_write(struct buf *out, const struct otlp_message *message);

#endif
