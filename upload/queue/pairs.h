/* "key=value,…" as OpenTelemetry's variables have it: OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS. */
#ifndef UPLOAD_QUEUE_PAIRS_H
#define UPLOAD_QUEUE_PAIRS_H

#include <stdbool.h>

/* Call EACH for every pair of TEXT, blanks around keys and values left out and, with DECODE, %41 read as A;
 * until it returns an error, and return that. What has no key is passed over. -ENOMEM without memory. */
int pairs_each(const char *text, bool decode,
	       int (*each)(void *arg, const char *key, const char *value), void *arg);

#endif
