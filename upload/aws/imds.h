/* The EC2 instance metadata service, version 2. */
#ifndef UPLOAD_AWS_IMDS_H
#define UPLOAD_AWS_IMDS_H

#include "upload/aws/aws.h"

/* Get PATH ("/latest/…") with a session's token; the answer's text is appended to OUT.
 * Returns 0, -ENOENT where this is no EC2 instance, the service is disabled or knows no such
 * path, or another -errno. A second is the most that each request takes. */
int imds_get(struct aws *aws, const char *path, struct buf *out);

/* The region that this instance runs in: malloc'd, or NULL. */
char *imds_region(struct aws *aws);

#endif
