/* Publishes what a thread works on as OpenTelemetry's SDKs do (OTEP 4947): as a part of the program, or as a library
 * that it is linked with or opens. */
#include <stddef.h>

__attribute__((visibility("default"))) __thread void *volatile otel_thread_ctx_v1 = NULL;

__attribute__((visibility("default"))) void otel_attach(void *record);

void otel_attach(void *record)
{
	otel_thread_ctx_v1 = record;
}
