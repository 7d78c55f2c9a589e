/* cJSON omits an item without memory, and reports that only to its caller. */
#include "upload/queue/json_object.h"

#include <cjson/cJSON.h>

cJSON *json_put(cJSON *object, const char *key, cJSON *item, bool *failed)
{
	if (object && item &&
	    (key ? cJSON_AddItemToObject(object, key, item) : cJSON_AddItemToArray(object, item)))
		return item;
	cJSON_Delete(item);
	*failed = true;
	return NULL;
}

void json_put_string(cJSON *object, const char *key, const char *value, bool *failed)
{
	if (value && value[0])
		json_put(object, key, cJSON_CreateString(value), failed);
}

void json_put_number(cJSON *object, const char *key, double value, bool *failed)
{
	json_put(object, key, cJSON_CreateNumber(value), failed);
}

cJSON *json_finish(cJSON *object, bool failed)
{
	if (!failed)
		return object;
	cJSON_Delete(object);
	return NULL;
}
