/* Client of AWS's Security Token Service: credentials for a role. */
#ifndef UPLOAD_AWS_STS_H
#define UPLOAD_AWS_STS_H

#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"

struct sts_role {
	const char *arn;
	const char *session;     /* NULL: generated */
	const char *external_id; /* NULL: none */
	const char *seconds;     /* lifetime of the credentials; NULL: the default of STS */
};

/* AssumeRole: get credentials for ROLE, signed with the credentials WITH. Returns 0, or -errno
 * after logging it. */
int sts_assume(struct aws *aws, const struct sts_role *role, const struct credentials *with,
	       struct credentials *out);

/* AssumeRoleWithWebIdentity: get credentials for ROLE with the TOKEN of an identity provider.
 * Returns 0, or -errno after logging it. */
int sts_assume_web(struct aws *aws, const struct sts_role *role, const char *token,
		   struct credentials *out);

#endif
