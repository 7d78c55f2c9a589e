/* AWS credentials, and the providers of AWS's own tools. */
#include "upload/aws/credentials.h"

#include <errno.h>
#include <string.h>

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

static credentials_open *const usual[] = {
	credentials_environment, credentials_profile,  credentials_web,
	credentials_container,   credentials_instance,
};

#define USUAL (sizeof(usual) / sizeof(usual[0]))

int credentials_default(struct credentials_provider **out, struct aws *aws)
{
	struct credentials_provider *providers[USUAL], *chain;
	size_t count;
	int err = 0;

	for (count = 0; count < USUAL; count++) {
		err = usual[count](&providers[count], aws);
		if (err)
			break;
	}
	if (err) {
		while (count)
			count--, providers[count]->destroy(providers[count]);
		return err;
	}
	err = credentials_chain(&chain, providers, USUAL);
	return err ? err : credentials_cache(out, chain, aws);
}
