/* Whom a report is of: the machine, the container and the pod of the process that made it. A report
 * that waited in a spool may be delivered by another process, from another place. */
#ifndef UPLOAD_QUEUE_ORIGIN_H
#define UPLOAD_QUEUE_ORIGIN_H

#include <stdbool.h>

#include "core/buf.h"
#include "core/environment.h"
#include "core/agent/report.h"
#include "upload/aws/host.h"

struct cJSON;

/* Note, in the constructor, what ENVIRONMENT tells of the pod and the service. Returns 0 or -ENOMEM. */
int origin_capture(char *const *environment);

/* Note that HOST is the machine, for origin_note(). Any thread. */
void origin_found(const struct host *host);

/* This process, as an object for a spool's note: "hostname", "boot" (that of the kernel), "cgroup",
 * "kubernetes", "service" and "attributes" (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES), and once it is known "host" and "machine" (host_machine()). NULL without memory;
 * release with cJSON_Delete. Any thread. */
struct cJSON *origin_note(void);

/* Likewise of REPORT's process: what came with it from a spool, else this one, with ENVIRONMENT and
 * HOST. What was not known there of the machine is HOST's where the two are one. */
struct cJSON *origin_of(const struct report *report, const struct environment *environment,
			const struct host *host);

/* A version that is longer is none. */
#define ORIGIN_VERSION_MAX 256

/* What ORIGIN's OTEL_RESOURCE_ATTRIBUTES call service.version, in OUT; "" where they do not tell. Returns 0 or -errno. */
int origin_version(char out[ORIGIN_VERSION_MAX], const struct cJSON *origin);

/* The same of this process, as it was captured; NULL: they do not tell. It stays where it is. */
const char *origin_own_version(void);

/* Append what names the machine of REPORT's process in an object's key, as host_machine(). */
int origin_machine(struct buf *out, const struct report *report, const struct host *host);

#endif
