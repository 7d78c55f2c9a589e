/* Origin of a report: the machine, container and pod of the process that made it. Another
 * process, in another place, may deliver a report from a spool. */
#ifndef UPLOAD_QUEUE_ORIGIN_H
#define UPLOAD_QUEUE_ORIGIN_H

#include "core/buf.h"
#include "core/environment.h"
#include "core/agent/report.h"
#include "upload/aws/host.h"

struct cJSON;

/* Take the description of the pod and the service from ENVIRONMENT, which lives as long as the
 * process. Called once, at the start. Returns 0 or -ENOMEM. */
int origin_capture(char *const *environment);

/* Set HOST as this machine for origin_note(). Any thread. */
void origin_found(const struct host *host);

/* host_find() and origin_found(). Does nothing once HOST is known or this machine has no identity. If a metadata
 * service has failed, later calls search again: a few times within some minutes, and not before the delivery of a
 * final REPORT. */
void origin_find_host(struct host *host, struct aws *aws, const char *setting,
		      const struct report *report);

/* The origin of this process as a JSON object for a spool's note; release with cJSON_Delete.
 * NULL without memory. Any thread. Its members:
 * * "hostname", "cgroup", "kubernetes", "service";
 * * "boot": the id of the kernel's boot;
 * * "attributes": OTEL_RESOURCE_ATTRIBUTES; "service" is OTEL_SERVICE_NAME;
 * * "host" and "machine" (host_machine()), once origin_found() was called. */
struct cJSON *origin_note(void);

/* The origin of REPORT's process. It comes from the spool's note, or describes this process with
 * ENVIRONMENT and HOST. If the note does not know its machine and the process ran on this one,
 * HOST is added. NULL without memory; release with cJSON_Delete. */
struct cJSON *origin_of(const struct report *report, const struct environment *environment,
			const struct host *host);

/* A longer version is ignored. */
#define ORIGIN_VERSION_MAX 256

/* Copy service.version of ORIGIN's OTEL_RESOURCE_ATTRIBUTES to OUT; "" if it is not set. Returns
 * 0 or -errno. */
int origin_version(char out[ORIGIN_VERSION_MAX], const struct cJSON *origin);

/* A longer host name is cut; Linux has none. */
#define ORIGIN_HOST_MAX 256

/* Copy the host name of ORIGIN to OUT; "" if it is not known. */
void origin_hostname(char out[ORIGIN_HOST_MAX], const struct cJSON *origin);

/* service.version of this process, from origin_capture(); NULL if it is not set. The string is
 * static. */
const char *origin_own_version(void);

/* Append the machine name of REPORT's process for an object's key, in the form of
 * host_machine(). Returns 0 or -errno. */
int origin_machine(struct buf *out, const struct report *report, const struct host *host);

#endif
