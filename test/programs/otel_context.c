/* Publishes the context of a thread as OpenTelemetry's SDKs do (OTEP 4947): as a part of the
 * program, or as a library that is linked or opened. */
#include <stddef.h>

__attribute__((visibility("default"))) __thread void *volatile otel_thread_ctx_v1 = NULL;

__attribute__((visibility("default"))) void otel_attach(void *record);

void otel_attach(void *record)
{
	otel_thread_ctx_v1 = record;
}
