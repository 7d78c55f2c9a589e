/* OTLP reporter: sends each report as a message of the profiles signal by OTLP/HTTP
 * (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
#ifndef UPLOAD_OTLP_OTLP_H
#define UPLOAD_OTLP_OTLP_H

#include "upload/push/push.h"

extern const struct push_form otlp_form;

/* Like push_open() for CONFIG's receiver. */
int otlp_reporter_open(struct reporter **out, const struct config *config);

#endif
