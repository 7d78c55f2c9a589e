/* The region that AWS's services are asked in. */
#ifndef UPLOAD_AWS_REGION_H
#define UPLOAD_AWS_REGION_H

#include "upload/aws/aws.h"

/* The region: configured, from AWS_REGION, AWS_DEFAULT_REGION, the profile, or where this
 * instance runs. What cannot be one is passed over, with a line. NULL when nothing tells; valid until
 * aws_free(). */
const char *aws_region(struct aws *aws);

/* The domain that the region's services are in. */
const char *aws_domain(const char *region);

#endif
