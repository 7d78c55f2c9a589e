/* Identity of a report's process, as labels: service, machine, container, pod and process. The
 * keys follow OpenTelemetry's semantic conventions for resources. */
#ifndef UPLOAD_PUSH_IDENTITY_H
#define UPLOAD_PUSH_IDENTITY_H

#include "core/agent/report.h"
#include "core/environment.h"
#include "core/options/config.h"
#include "upload/aws/host.h"

#define IDENTITY_LABELS_MAX 128

struct identity_label {
	char *key, *text; /* malloc'd */
	bool number;      /* the text is a number */
	bool tag;         /* from ASPROF_AGENT_TAGS */
};

struct identity {
	struct identity_label labels[IDENTITY_LABELS_MAX]; /* unique keys; service.name first */
	size_t count;
	bool failed; /* out of memory */
};

/* Fill OUT with the labels of REPORT's process, in this order:
 * * service.name: from OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, else the profiling group, else
 *   the executable, else "unknown_service";
 * * the other OTEL_RESOURCE_ATTRIBUTES;
 * * the report's tags, else CONFIG's;
 * * the origin of the process (origin_of()).
 *
 * The first label with a key counts. Labels beyond IDENTITY_LABELS_MAX are dropped without a
 * message. The tag "version" becomes service.version if that is not set.
 *
 * Returns 0 or -ENOMEM; release with identity_free() in both cases. */
int identity_of(struct identity *out, const struct report *report, const struct config *config,
		const struct environment *environment, const struct host *host);
void identity_free(struct identity *identity);

/* The text of KEY, or NULL. */
const char *identity_get(const struct identity *identity, const char *key);

#endif
