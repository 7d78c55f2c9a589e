/* Target of uploads in S3: the URL of the bucket. */
#ifndef UPLOAD_S3_S3_TARGET_H
#define UPLOAD_S3_S3_TARGET_H

#include "core/options/config.h"
#include "upload/aws/aws.h"

#define S3_TARGET_PROBLEM_SIZE 256

struct s3_target {
	char *base;      /* the URL in front of the key, with its final '/' */
	char region[64]; /* for signatures */
	bool custom;     /* an endpoint is configured */
};

/* Find the target: CONFIG's endpoint, else the endpoint of the SDKs' settings, else Amazon's.
 * The bucket name is part of the host name at Amazon, and of the path with an endpoint. The
 * profile's s3.addressing_style overrides that. Returns 0 (release with s3_target_free), or
 * -errno with an error text in PROBLEM. */
int s3_target_find(struct s3_target *out, struct aws *aws, const struct config *config,
		   char problem[S3_TARGET_PROBLEM_SIZE]);

/* Find the target of the bucket in REGION; the configured region is ignored. */
int s3_target_in(struct s3_target *out, struct aws *aws, const struct config *config,
		 const char *region);
void s3_target_free(struct s3_target *target);

/* Identity of the target for struct reporter's destination: the endpoint's host, the bucket and
 * the prefix of CONFIG and ENVIRONMENT. Contains no secrets. Processes with the same target get
 * the same string. Malloc'd; NULL without memory. */
char *s3_destination(const struct config *config, const struct environment *environment);

#endif
