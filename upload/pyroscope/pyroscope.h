/* The Pyroscope reporter: each report as profiles in profile.proto, to /ingest
 * (https://grafana.com/docs/pyroscope/latest/reference-server-api/). */
#ifndef UPLOAD_PYROSCOPE_PYROSCOPE_H
#define UPLOAD_PYROSCOPE_PYROSCOPE_H

#include "upload/push/push.h"

/* Time on CPUs, time on the wall, memory, locks: a request each, as Pyroscope takes one of these for a
 * profile, and tells which it is by the types in it. */
extern const struct push_form pyroscope_form;

/* As push_open() of CONFIG's server. */
int pyroscope_reporter_open(struct reporter **out, const struct config *config);

/* Append the value of "name" for IDENTITY: "SERVICE{KEY=VALUE,…}". Keys are as Pyroscope wants them, and the
 * usual ones short (host, instance, container, pod, …); what its parser would take for its own in a value
 * becomes '_'. Returns 0 or -errno. */
int pyroscope_name(struct buf *out, const struct identity *identity);

#endif
