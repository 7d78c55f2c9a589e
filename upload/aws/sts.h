/* AWS's Security Token Service: credentials for a role. */
#ifndef UPLOAD_AWS_STS_H
#define UPLOAD_AWS_STS_H

#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"

struct sts_role {
	const char *arn;
	const char *session;     /* NULL: one is made up */
	const char *external_id; /* NULL: none */
	const char *seconds;     /* how long the credentials are good for; NULL: as STS likes */
};

/* Be ROLE on the word of CREDENTIALS (AssumeRole). Returns 0 or -errno after a line. */
int sts_assume(struct aws *aws, const struct sts_role *role, const struct credentials *with,
	       struct credentials *out);

/* Be ROLE on the word of TOKEN, an identity provider's (AssumeRoleWithWebIdentity). */
int sts_assume_web(struct aws *aws, const struct sts_role *role, const char *token,
		   struct credentials *out);

#endif
