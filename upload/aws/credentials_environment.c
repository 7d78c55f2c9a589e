/* Credentials from AWS_ACCESS_KEY_ID and related environment variables. */
#include <errno.h>

#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"

int credentials_environment(struct aws *aws, struct credentials *out)
{
	const struct environment *environment = aws->environment;
	const char *id = environment_get(environment, "AWS_ACCESS_KEY_ID");
	const char *secret = environment_get(environment, "AWS_SECRET_ACCESS_KEY");

	if (!id || !secret)
		return -ENOENT;
	return credentials_set(out, id, secret, environment_get(environment, "AWS_SESSION_TOKEN"),
			       0);
}
