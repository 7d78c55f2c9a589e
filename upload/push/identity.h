/* Whom a report is of, as labels: the service, its machine, container and pod, the process. They are called
 * as OpenTelemetry's conventions for resources call them. */
#ifndef UPLOAD_PUSH_IDENTITY_H
#define UPLOAD_PUSH_IDENTITY_H

#include "core/agent/report.h"
#include "core/environment.h"
#include "core/options/config.h"
#include "upload/aws/host.h"

#define IDENTITY_LABELS_MAX 128

struct identity_label {
	char *key, *text; /* malloc'd */
	bool number;      /* TEXT is one */
	bool tag;         /* of ASPROF_AGENT_TAGS */
};

struct identity {
	struct identity_label labels[IDENTITY_LABELS_MAX]; /* no key twice; service.name first */
	size_t count;
	bool failed; /* memory was short */
};

/* Those of REPORT: service.name (of OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, else the profiling group),
 * the rest of OTEL_RESOURCE_ATTRIBUTES, CONFIG's or the report's tags, then what is known of its process
 * (origin_of()). Of two with one key the first stays. A tag that is called "version" is service.version where
 * nothing else is. Returns 0 or -ENOMEM; release with identity_free() either way. */
int identity_of(struct identity *out, const struct report *report, const struct config *config,
		const struct environment *environment, const struct host *host);
void identity_free(struct identity *identity);

/* The text of KEY, or NULL. */
const char *identity_get(const struct identity *identity, const char *key);

#endif
