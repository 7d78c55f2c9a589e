/* Client of the EC2 instance metadata service, version 2. */
#ifndef UPLOAD_AWS_IMDS_H
#define UPLOAD_AWS_IMDS_H

#include "upload/aws/aws.h"

/* Get PATH ("/latest/…") with a session token and append the body to OUT. Each request takes at
 * most a second. Returns 0 or -errno. -ENOENT: this is not an EC2 instance, the service is
 * disabled, or the path does not exist. */
int imds_get(struct aws *aws, const char *path, struct buf *out);

/* The region of this instance; malloc'd, or NULL. */
char *imds_region(struct aws *aws);

#endif
