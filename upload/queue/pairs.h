/* Parser of "key=value,…" lists in OpenTelemetry's environment variables OTEL_RESOURCE_ATTRIBUTES and
 * OTEL_EXPORTER_OTLP_HEADERS. */
#ifndef UPLOAD_QUEUE_PAIRS_H
#define UPLOAD_QUEUE_PAIRS_H

#include <stdbool.h>

/* Call EACH for every pair of TEXT, without the blanks around keys and values, which are valid until
 * EACH returns. With DECODE, "%41" becomes "A". A part without a key or without "=" is skipped. Stops at
 * the first error of EACH and returns it; -ENOMEM without memory. */
int pairs_each(const char *text, bool decode,
	       int (*each)(void *arg, const char *key, const char *value), void *arg);

/* Return the byte that TEXT starts with in percent encoding ("%2F"), or -1. */
int pairs_percent_byte(const char *text);

#endif
