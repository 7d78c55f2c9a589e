/* Who signs the uploads: AWS credentials, and where they come from. */
#ifndef UPLOAD_AWS_CREDENTIALS_H
#define UPLOAD_AWS_CREDENTIALS_H

#include <stddef.h>
#include <stdint.h>

struct aws;

struct credentials {
	char *id, *secret;
	char *token;     /* NULL: long-lived */
	int64_t expires; /* seconds since 1970; 0: never */
};

/* Wipe and release. */
void credentials_clear(struct credentials *credentials);

/* Copies; TOKEN may be NULL or "". Returns 0 or -ENOMEM. */
int credentials_set(struct credentials *out, const char *id, const char *secret, const char *token,
		    int64_t expires);

/* One source, first in its own struct. */
struct credentials_provider {
	const char *name; /* for the log */

	/* Fill OUT (release with credentials_clear). Returns 0, -ENOENT where this source is not
	 * set up here, or another -errno after saying why in the log. */
	int (*get)(struct credentials_provider *provider, struct credentials *out);
	void (*forget)(
		struct credentials_provider *provider); /* see below; NULL: nothing is kept */
	void (*destroy)(struct credentials_provider *provider);
};

/* Each of these makes a provider (release with its destroy), which AWS must outlive. Returns 0 or
 * -ENOMEM. All calls are made by the one thread that AWS is used by. */
typedef int credentials_open(struct credentials_provider **out, struct aws *aws);

credentials_open credentials_environment; /* AWS_ACCESS_KEY_ID and its companions */
credentials_open credentials_profile;     /* the shared config and credentials files */
credentials_open credentials_web;         /* AWS_WEB_IDENTITY_TOKEN_FILE, by STS */
credentials_open credentials_container;   /* ECS, EKS pod identity */
credentials_open credentials_instance;    /* EC2, by IMDSv2 */

/* The first of PROVIDERS that is set up here, and from then on that one. Owns them, and frees
 * them when it cannot be made. */
int credentials_chain(struct credentials_provider **out,
		      struct credentials_provider *const *providers, size_t count);

/* What PROVIDER gives, asked again five minutes before it expires. While asking fails, what is
 * there is given out until it has expired. Owns PROVIDER, and frees it when it cannot be made. */
int credentials_cache(struct credentials_provider **out, struct credentials_provider *provider,
		      struct aws *aws);

/* Have PROVIDER ask again next time: a server said that they have expired. */
void credentials_forget(struct credentials_provider *provider);

/* All of the above, in the SDKs' order, cached. */
int credentials_default(struct credentials_provider **out, struct aws *aws);

#endif
