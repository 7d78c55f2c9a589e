/* AWS credentials, and the providers of AWS's own tools. */
#include "upload/aws/credentials.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/secret.h"

void credentials_clear(struct credentials *credentials)
{
	secret_free(credentials->id);
	secret_free(credentials->secret);
	secret_free(credentials->token);
	memset(credentials, 0, sizeof(*credentials));
}

int credentials_set(struct credentials *out, const char *id, const char *secret, const char *token,
		    int64_t expires)
{
	out->id = strdup(id);
	out->secret = strdup(secret);
	out->token = token && token[0] ? strdup(token) : NULL;
	out->expires = expires;
	if (!out->id || !out->secret || (token && token[0] && !out->token)) {
		credentials_clear(out);
		return -ENOMEM;
	}
	return 0;
}

void credentials_forget(struct credentials_provider *provider)
{
	if (provider->forget)
		provider->forget(provider);
}

static const struct source {
	const char *name; /* for the log */
	credentials_get *get;
} sources[] = {
	{ "the environment", credentials_environment },
	{ "the shared config files", credentials_profile },
	{ "a web identity", credentials_web },
	{ "the container's agent", credentials_container },
	{ "the instance's role", credentials_instance },
};

/* Uses the first configured source from then on, as long as it has credentials. */
struct chain {
	struct credentials_provider provider;
	struct aws *aws;
	const struct source *chosen;
	bool logged;
};

static int chain_get(struct credentials_provider *provider, struct credentials *out)
{
	struct chain *chain = (struct chain *)provider;
	int err;

	if (chain->chosen) {
		err = chain->chosen->get(chain->aws, out);
		if (err != -ENOENT)
			return err;
		log_error("%s has no credentials any more", chain->chosen->name);
		chain->chosen = NULL;
		chain->logged = false;
	}
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		err = sources[i].get(chain->aws, out);
		if (err == -ENOENT)
			continue;
		if (!err) {
			chain->chosen = &sources[i];
			log_info("credentials come from %s", chain->chosen->name);
		}
		return err;
	}
	if (!chain->logged)
		log_error("no AWS credentials in the environment, the shared files, a web "
			  "identity, a container or an instance role");
	chain->logged = true;
	return -ENOENT;
}

static void chain_destroy(struct credentials_provider *provider)
{
	free(provider);
}

int credentials_default(struct credentials_provider **out, struct aws *aws)
{
	struct chain *chain = calloc(1, sizeof(*chain));

	if (!chain)
		return -ENOMEM;
	chain->provider = (struct credentials_provider){ .name = "the chain",
							 .get = chain_get,
							 .destroy = chain_destroy };
	chain->aws = aws;
	return credentials_cache(out, &chain->provider, aws);
}
