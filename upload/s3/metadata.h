/* The file metadata.json of a zip file: it describes the recording. */
#ifndef UPLOAD_S3_METADATA_H
#define UPLOAD_S3_METADATA_H

#include "core/buf.h"
#include "core/environment.h"
#include "core/options/config.h"
#include "core/agent/report.h"
#include "upload/aws/host.h"

/* Append the metadata of REPORT to OUT:
 *
 * {"start":ms,"end":ms,"reporting_interval":ms,"agent":{…}}
 *
 * The members of "agent":
 * * "version", "executable", "service_version", "pid", "profiled_since" (ms; 0: not known),
 *   "engine", "engine_version";
 * * "hostname", "cgroup", "host" and "kubernetes" of the process that made the report
 *   (origin_of());
 * * "tags" of REPORT, else of CONFIG;
 * * "samples" {"taken","lost"}, where "taken" counts the recording's samples (samples_count());
 *   "recovered" if it is true;
 * * if not 0, "spooled_bytes" and "dropped" {"bytes","full","aged","refused"}: reports since the
 *   program started.
 *
 * Returns 0 or -errno. */
int metadata_json(struct buf *out, const struct report *report, const struct config *config,
		  const struct host *host, const struct environment *environment);

#endif
