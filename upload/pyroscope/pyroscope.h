/* Pyroscope reporter: sends each report as profiles in profile.proto to /ingest
 * (https://grafana.com/docs/pyroscope/latest/reference-server-api/). */
#ifndef UPLOAD_PYROSCOPE_PYROSCOPE_H
#define UPLOAD_PYROSCOPE_PYROSCOPE_H

#include "upload/push/push.h"

/* CPU time, wall-clock time, memory, locks: one request each. Pyroscope accepts one of these
 * kinds in a profile and recognizes it by the sample types. */
extern const struct push_form pyroscope_form;

/* Like push_open() for CONFIG's server. */
int pyroscope_reporter_open(struct reporter **out, const struct config *config);

/* Append the value of "name" for IDENTITY: "SERVICE{KEY=VALUE,…}". Keys follow Pyroscope's
 * rules; common ones get short names (host, instance, container, pod, …). Characters in values
 * that Pyroscope's parser would interpret become '_'. Returns 0 or -errno. */
int pyroscope_name(struct buf *out, const struct identity *identity);

#endif
