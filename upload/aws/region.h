/* AWS region of the requests. */
#ifndef UPLOAD_AWS_REGION_H
#define UPLOAD_AWS_REGION_H

#include "upload/aws/aws.h"

/* The region: configured, from AWS_REGION, AWS_DEFAULT_REGION, the profile, or the region of
 * this instance. An invalid name is logged and ignored. NULL if none is found; valid until
 * aws_free(). */
const char *aws_region(struct aws *aws);

/* The domain of the region's services. */
const char *aws_domain(const char *region);

#endif
