/* The S3 reporter: each report is a zip file in a bucket. */
#ifndef UPLOAD_S3_S3_H
#define UPLOAD_S3_S3_H

#include "core/options/config.h"
#include "core/agent/report.h"
#include "upload/http/http.h"

/* deliver() returns what s3_judge() made of the answer (s3_answer.h), or another -errno where the
 * next try may do. */

/* Make a reporter that puts reports into CONFIG's bucket; CONFIG must outlive it. Nothing is
 * looked up and nobody is asked before the first deliver(), whose thread must have every
 * signal blocked. The environment is copied here, or was by s3_capture_environment().
 * Returns 0 and sets *OUT (release with its close), or -errno. */
int s3_reporter_open(struct reporter **out, const struct config *config);

/* Copy ENVIRONMENT for the reporters to be opened: for a constructor, as later the program may
 * be changing its own while it is read. Returns 0 or -ENOMEM. */
int s3_capture_environment(char *const *environment);

/* For tests: send by HTTP (owned), with ENVIRONMENT and NOW as the clock. */
int s3_reporter_open_with(struct reporter **out, const struct config *config,
			  char *const *environment, struct http *http, int64_t (*now)(void));

#endif
