/* AWS credentials and their providers. */
#ifndef UPLOAD_AWS_CREDENTIALS_H
#define UPLOAD_AWS_CREDENTIALS_H

#include <stddef.h>
#include <stdint.h>

struct aws;

struct credentials {
	char *id, *secret;
	char *token;     /* NULL: long-term credentials */
	int64_t expires; /* seconds since 1970; 0: never */
};

/* Wipe and free the members. */
void credentials_clear(struct credentials *credentials);

/* Copy the arguments to OUT; TOKEN may be NULL or "". Returns 0 or -ENOMEM. */
int credentials_set(struct credentials *out, const char *id, const char *secret, const char *token,
		    int64_t expires);

/* A provider of credentials; the first member of its own struct. */
struct credentials_provider {
	const char *name; /* for the log */

	/* Fill OUT (release with credentials_clear). Returns 0, -ENOENT if this provider is not
	 * configured, or another -errno after logging the reason. */
	int (*get)(struct credentials_provider *provider, struct credentials *out);

	/* See credentials_forget(); NULL: the provider caches nothing. */
	void (*forget)(struct credentials_provider *provider);
	void (*destroy)(struct credentials_provider *provider);
};

/* Each of these opens a provider (release with its destroy). AWS must outlive it. Only the
 * thread that uses AWS calls the provider. Returns 0 or -ENOMEM. */
typedef int credentials_open(struct credentials_provider **out, struct aws *aws);

credentials_open credentials_environment; /* AWS_ACCESS_KEY_ID and related variables */
credentials_open credentials_profile;     /* shared config and credentials files */
credentials_open credentials_web;         /* AWS_WEB_IDENTITY_TOKEN_FILE, through STS */
credentials_open credentials_container;   /* ECS, EKS pod identity */
credentials_open credentials_instance;    /* EC2, through IMDSv2 */

/* A provider that uses the first configured one of PROVIDERS, and only that one afterwards. Owns
 * PROVIDERS, and destroys them on failure. */
int credentials_chain(struct credentials_provider **out,
		      struct credentials_provider *const *providers, size_t count);

/* A cache of PROVIDER's credentials, renewed five minutes before they expire. If renewal fails,
 * the cached credentials are used until they expire. Owns PROVIDER, and destroys it on failure. */
int credentials_cache(struct credentials_provider **out, struct credentials_provider *provider,
		      struct aws *aws);

/* Renew the credentials on the next get: a server reported that they expired. */
void credentials_forget(struct credentials_provider *provider);

/* All providers above in the order of the SDKs, cached. */
int credentials_default(struct credentials_provider **out, struct aws *aws);

#endif
