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

/* The sources of credentials_default(). Each fills OUT like a provider's get. Only the thread that
 * uses AWS calls them. */
typedef int credentials_get(struct aws *aws, struct credentials *out);

credentials_get credentials_environment; /* AWS_ACCESS_KEY_ID and related variables */
credentials_get credentials_profile;     /* shared config and credentials files */
credentials_get credentials_web;         /* AWS_WEB_IDENTITY_TOKEN_FILE, through STS */
credentials_get credentials_container;   /* ECS, EKS pod identity */
credentials_get credentials_instance;    /* EC2, through IMDSv2 */

/* Parse the JSON of containers, instances and credential processes into OUT. TOKEN is its key of
 * the session token. Returns 0 or -EBADMSG. */
int credentials_from_json(struct credentials *out, const char *text, size_t length,
			  const char *token);

/* A cache of PROVIDER's credentials, renewed five minutes before they expire. If renewal fails,
 * the cached credentials are used until they expire. Owns PROVIDER, and destroys it on failure. */
int credentials_cache(struct credentials_provider **out, struct credentials_provider *provider,
		      struct aws *aws);

/* Renew the credentials on the next get: a server reported that they expired. */
void credentials_forget(struct credentials_provider *provider);

/* Opens a provider of the first configured source above, in the order of the SDKs, and only of that
 * one afterwards; cached. Release it with its destroy. AWS must outlive it. Returns 0 or -ENOMEM. */
int credentials_default(struct credentials_provider **out, struct aws *aws);

#endif
