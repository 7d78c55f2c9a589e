/* Credentials provider without state other than the AWS context. */
#ifndef UPLOAD_AWS_CREDENTIALS_SIMPLE_H
#define UPLOAD_AWS_CREDENTIALS_SIMPLE_H

#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"

struct simple_provider {
	struct credentials_provider provider;
	struct aws *aws;
};

int simple_provider_open(struct credentials_provider **out, struct aws *aws, const char *name,
			 int (*get)(struct credentials_provider *, struct credentials *));

static inline struct aws *simple_provider_aws(struct credentials_provider *provider)
{
	return ((struct simple_provider *)provider)->aws;
}

/* Parse the JSON of containers, instances and credential processes into OUT. TOKEN is its key of
 * the session token. Returns 0 or -EBADMSG. */
int credentials_from_json(struct credentials *out, const char *text, size_t length,
			  const char *token);

#endif
