/* Credentials, and what combines their providers: the chain and the cache. */
#include "upload/credentials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "upload/aws.h"
#include "upload/secret.h"

#define PROVIDERS_MAX 8

/* Expiring ones are renewed this early. */
#define EARLY_SECONDS 300

/* While renewing fails, the next try is not made at once: reports come every second or so, and
 * are tried again and again when the program ends. */
#define RETRY_SECONDS         10
#define RETRY_EXPIRED_SECONDS 1

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

/* --- chain --- */

struct chain {
	struct credentials_provider provider;
	struct credentials_provider *providers[PROVIDERS_MAX];
	size_t count;
	struct credentials_provider *chosen;
	bool said;
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
	if (!chain->said)
		log_error("no AWS credentials: neither the environment, nor the shared files, nor "
			  "a web identity, nor a container, nor an instance role gives them");
	chain->said = true;
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

/* --- cache --- */

struct cache {
	struct credentials_provider provider;
	struct credentials_provider *source;
	struct aws *aws;
	struct credentials held;
	int64_t tried; /* when renewing failed last */
	int err;       /* how */
	bool renew;
};

static bool valid_for(const struct cache *cache, int64_t seconds)
{
	return cache->held.id &&
	       (!cache->held.expires || cache->held.expires > aws_now(cache->aws) + seconds);
}

static int cache_renew(struct cache *cache)
{
	struct credentials fresh = { 0 };

	cache->err = cache->source->get(cache->source, &fresh);
	if (cache->err) {
		cache->tried = aws_now(cache->aws);
		return cache->err;
	}
	aws_all_well(cache->aws);
	credentials_clear(&cache->held);
	cache->held = fresh;
	cache->renew = false;
	return 0;
}

static int cache_get(struct credentials_provider *provider, struct credentials *out)
{
	struct cache *cache = (struct cache *)provider;
	bool usable = !cache->renew && valid_for(cache, 0);
	int64_t since = aws_now(cache->aws) - cache->tried;
	bool recently = since >= 0 && since < (usable ? RETRY_SECONDS : RETRY_EXPIRED_SECONDS);

	if (!recently && (!usable || !valid_for(cache, EARLY_SECONDS)) && !cache_renew(cache))
		usable = true;
	if (!usable)
		return cache->err;
	return credentials_set(out, cache->held.id, cache->held.secret, cache->held.token,
			       cache->held.expires);
}

static void cache_destroy(struct credentials_provider *provider)
{
	struct cache *cache = (struct cache *)provider;

	cache->source->destroy(cache->source);
	credentials_clear(&cache->held);
	free(cache);
}

int credentials_cache(struct credentials_provider **out, struct credentials_provider *provider,
		      struct aws *aws)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	if (!cache) {
		provider->destroy(provider);
		return -ENOMEM;
	}
	cache->provider = (struct credentials_provider){ .name = provider->name,
							 .get = cache_get,
							 .destroy = cache_destroy };
	cache->source = provider;
	cache->aws = aws;
	*out = &cache->provider;
	return 0;
}

void credentials_cache_forget(struct credentials_provider *provider)
{
	struct cache *cache = (struct cache *)provider;

	cache->renew = true;
	cache->tried = 0;
}

/* --- the usual ones --- */

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
