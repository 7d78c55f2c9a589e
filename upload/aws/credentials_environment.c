/* Credentials from AWS_ACCESS_KEY_ID and related environment variables. */
#include <errno.h>

#include "upload/aws/credentials_simple.h"

static int credentials_environment_get(struct credentials_provider *provider,
				       struct credentials *out)
{
	const struct environment *environment = simple_provider_aws(provider)->environment;
	const char *id = environment_get(environment, "AWS_ACCESS_KEY_ID");
	const char *secret = environment_get(environment, "AWS_SECRET_ACCESS_KEY");

	if (!id || !secret)
		return -ENOENT;
	return credentials_set(out, id, secret, environment_get(environment, "AWS_SESSION_TOKEN"),
			       0);
}

int credentials_environment(struct credentials_provider **out, struct aws *aws)
{
	return simple_provider_open(out, aws, "the environment", credentials_environment_get);
}
