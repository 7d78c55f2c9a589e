/* Credentials in the JSON of containers, instances and credential processes. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

#include "upload/aws/credentials.h"
#include "upload/aws/instant.h"

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
