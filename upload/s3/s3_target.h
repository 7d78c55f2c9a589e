/* Where a report goes in S3: the bucket's URL. */
#ifndef UPLOAD_S3_S3_TARGET_H
#define UPLOAD_S3_S3_TARGET_H

#include "core/options/config.h"
#include "upload/aws/aws.h"

#define S3_TARGET_PROBLEM_SIZE 256

struct s3_target {
	char *base;      /* the URL up to the key, with its last '/' */
	char region[64]; /* for signatures */
	bool custom;     /* an endpoint was set */
};

/* Find the target: CONFIG's endpoint, else the SDKs' settings, else Amazon's own. A bucket's
 * name is part of the host name at Amazon, and of the path with an endpoint, unless the
 * profile's s3.addressing_style says otherwise.
 * Returns 0 (release with s3_target_free), or -errno with words for it in PROBLEM. */
int s3_target_find(struct s3_target *out, struct aws *aws, const struct config *config,
		   char problem[S3_TARGET_PROBLEM_SIZE]);

/* The same for the bucket in REGION, whatever is set. */
int s3_target_in(struct s3_target *out, struct aws *aws, const struct config *config,
		 const char *region);
void s3_target_free(struct s3_target *target);

/* The endpoint's host, the bucket and the prefix, as far as CONFIG and ENVIRONMENT tell and without what
 * may be secret, so that two processes that upload to one place know it (struct reporter's destination).
 * Malloc'd; NULL without memory. */
char *s3_destination(const struct config *config, const struct environment *environment);

#endif
