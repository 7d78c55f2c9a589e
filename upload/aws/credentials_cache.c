/* Cache of credentials, renewed shortly before they expire. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"

/* Expiring credentials are renewed this early. */
#define EARLY_SECONDS 300

/* Minimum time between failed renewals. Reports can arrive every second, and are retried in
 * quick succession when the program ends. */
#define RETRY_SECONDS         10
#define RETRY_EXPIRED_SECONDS 1

struct cache {
	struct credentials_provider provider;
	struct credentials_provider *source;
	struct aws *aws;
	struct credentials held;
	int64_t tried; /* time of the last failed renewal */
	int err;       /* its error */
	bool renew;
};

static bool cache_is_valid(const struct cache *cache, int64_t seconds)
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
	aws_reset_warnings(cache->aws);
	credentials_clear(&cache->held);
	cache->held = fresh;
	cache->renew = false;
	return 0;
}

static int cache_get(struct credentials_provider *provider, struct credentials *out)
{
	struct cache *cache = (struct cache *)provider;
	bool usable = !cache->renew && cache_is_valid(cache, 0);
	int64_t since = aws_now(cache->aws) - cache->tried;
	bool recently = since >= 0 && since < (usable ? RETRY_SECONDS : RETRY_EXPIRED_SECONDS);

	if (!recently && (!usable || !cache_is_valid(cache, EARLY_SECONDS)) && !cache_renew(cache))
		usable = true;
	if (!usable)
		return cache->err;
	return credentials_set(out, cache->held.id, cache->held.secret, cache->held.token,
			       cache->held.expires);
}

static void cache_forget(struct credentials_provider *provider)
{
	struct cache *cache = (struct cache *)provider;

	cache->renew = true;
	cache->tried = 0;
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
							 .forget = cache_forget,
							 .destroy = cache_destroy };
	cache->source = provider;
	cache->aws = aws;
	*out = &cache->provider;
	return 0;
}
