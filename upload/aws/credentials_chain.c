/* Chain of credentials providers: the first configured one is used from then on. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "upload/aws/credentials.h"

#define PROVIDERS_MAX 8

struct chain {
	struct credentials_provider provider;
	struct credentials_provider *providers[PROVIDERS_MAX];
	size_t count;
	struct credentials_provider *chosen;
	bool logged;
};

static int chain_get(struct credentials_provider *provider, struct credentials *out)
{
	struct chain *chain = (struct chain *)provider;
	int err;

	if (chain->chosen)
		return chain->chosen->get(chain->chosen, out);
	for (size_t i = 0; i < chain->count; i++) {
		err = chain->providers[i]->get(chain->providers[i], out);
		if (err == -ENOENT)
			continue;
		if (!err) {
			chain->chosen = chain->providers[i];
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
	struct chain *chain = (struct chain *)provider;

	for (size_t i = 0; i < chain->count; i++)
		chain->providers[i]->destroy(chain->providers[i]);
	free(chain);
}

int credentials_chain(struct credentials_provider **out,
		      struct credentials_provider *const *providers, size_t count)
{
	struct chain *chain = count <= PROVIDERS_MAX ? calloc(1, sizeof(*chain)) : NULL;

	if (!chain) {
		for (size_t i = 0; i < count; i++)
			providers[i]->destroy(providers[i]);
		return -ENOMEM;
	}
	chain->provider = (struct credentials_provider){ .name = "the chain",
							 .get = chain_get,
							 .destroy = chain_destroy };
	memcpy(chain->providers, providers, count * sizeof(providers[0]));
	chain->count = count;
	*out = &chain->provider;
	return 0;
}
