/* Writer of OTLP profiles: an ExportProfilesServiceRequest of the profiles signal, v1development,
 * of protocol release 1.11
 *
 *
 * (https://github.com/open-telemetry/opentelemetry-proto/tree/v1.11.0/opentelemetry/proto/profiles). */
#ifndef PROFILE_OTLP_OTLP_WRITE_H
#define PROFILE_OTLP_OTLP_WRITE_H

#include "core/buf.h"
#include "profile/otlp/otlp_message.h"

/* Append MESSAGE to OUT: for each metric a profile of its count or total, or both if one does not
 * follow from the other; all share one dictionary. Returns 0; -ENODATA if there is no sample; or
 * -errno, which is -EFBIG if OUT's cap is exceeded. */
int otlp_write(struct buf *out, const struct otlp_message *message);

#endif
