/* S3 reporter: each report becomes a zip file in a bucket. */
#ifndef UPLOAD_S3_S3_H
#define UPLOAD_S3_S3_H

#include "core/options/config.h"
#include "core/agent/report.h"
#include "upload/http/http.h"

/* deliver() returns the result of s3_judge() for the response (s3_answer.h), or another -errno
 * if a retry may succeed. */

/* Open a reporter that uploads reports to CONFIG's bucket; CONFIG must outlive it. The first
 * network access is in the first deliver(), whose thread must block all signals. It uses
 * environment_at_start(). Returns 0 and sets *OUT (release with its close), or -errno. */
int s3_reporter_open(struct reporter **out, const struct config *config);

/* For tests: send with HTTP (owned), use ENVIRONMENT, which outlives it, and NOW as the clock. */
int s3_reporter_open_with(struct reporter **out, const struct config *config,
			  char *const *environment, struct http *http, int64_t (*now)(void));

#endif
