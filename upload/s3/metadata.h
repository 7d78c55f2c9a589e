/* What stands beside a recording in its zip file: metadata.json. */
#ifndef UPLOAD_S3_METADATA_H
#define UPLOAD_S3_METADATA_H

#include "core/buf.h"
#include "core/environment.h"
#include "core/options/config.h"
#include "core/agent/report.h"
#include "upload/aws/host.h"

/* Append the metadata of REPORT to OUT:
 *
 *	{"start":ms,"end":ms,"reporting_interval":ms,"agent":{…}}
 *
 * where "agent" holds what is known beyond: "version", "executable", "pid", "engine",
 * "engine_version", "hostname", "cgroup", "host" and "kubernetes" (of whoever made the report, see
 * origin_of()), "tags" (of REPORT, else of CONFIG), "samples" {"taken","lost"}, and where there was
 * any, "spooled_bytes" and "dropped" {"bytes","full","aged","refused"}: reports, since the program
 * started. Taken are the samples in the recording (samples_count()).
 * Returns 0 or -errno. */
int metadata_json(struct buf *out, const struct report *report, const struct config *config,
		  const struct host *host, const struct environment *environment);

#endif
