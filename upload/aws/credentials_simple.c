/* Common code of the credentials providers. */
#include "upload/aws/credentials_simple.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "upload/aws/instant.h"

static void simple_destroy(struct credentials_provider *provider)
{
	free(provider);
}

int simple_provider_open(struct credentials_provider **out, struct aws *aws, const char *name,
			 int (*get)(struct credentials_provider *, struct credentials *))
{
	struct simple_provider *simple = calloc(1, sizeof(*simple));

	if (!simple)
		return -ENOMEM;
	simple->provider = (struct credentials_provider){ .name = name,
							  .get = get,
							  .destroy = simple_destroy };
	simple->aws = aws;
	*out = &simple->provider;
	return 0;
}

static char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static void credentials_wipe_json(const cJSON *object, const char *key)
{
	char *text = text_of(object, key);

	if (text)
		explicit_bzero(text, strlen(text));
}

int credentials_from_json(struct credentials *out, const char *text, size_t length,
			  const char *token)
{
	cJSON *object = cJSON_ParseWithLength(text, length);
	const char *id = text_of(object, "AccessKeyId");
	const char *secret = text_of(object, "SecretAccessKey");
	const char *expiration = text_of(object, "Expiration");
	int64_t expires = 0;
	int err = -EBADMSG;

	if (id && secret && (!expiration || !instant_parse(expiration, &expires)))
		err = credentials_set(out, id, secret, text_of(object, token), expires);
	credentials_wipe_json(object, "SecretAccessKey");
	credentials_wipe_json(object, token);
	cJSON_Delete(object);
	return err;
}
