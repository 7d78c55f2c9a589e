/* Builder of a JSON object: errors add up in one flag, checked once at the end. */
#ifndef UPLOAD_QUEUE_JSON_OBJECT_H
#define UPLOAD_QUEUE_JSON_OBJECT_H

#include <stdbool.h>

struct cJSON;

/* Add ITEM to OBJECT as KEY, or append it to an array if KEY is NULL. Takes ownership of ITEM
 * and returns it. Returns NULL and sets *FAILED if OBJECT or ITEM is NULL, or without memory.
 * The functions below fail in the same way. */
struct cJSON *json_put(struct cJSON *object, const char *key, struct cJSON *item, bool *failed);

/* Add VALUE; adds nothing if VALUE is NULL or empty. */
void json_put_string(struct cJSON *object, const char *key, const char *value, bool *failed);

void json_put_number(struct cJSON *object, const char *key, double value, bool *failed);

/* Returns OBJECT; if FAILED, deletes it and returns NULL. */
struct cJSON *json_finish(struct cJSON *object, bool failed);

#endif
