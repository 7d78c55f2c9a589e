/* An object of JSON that is made step by step, with one look at the end whether memory was there for all. */
#ifndef UPLOAD_QUEUE_JSON_OBJECT_H
#define UPLOAD_QUEUE_JSON_OBJECT_H

#include <stdbool.h>

struct cJSON;

/* Put ITEM, which it takes, into OBJECT as KEY, or at the end of an array where KEY is NULL. Returns ITEM.
 * NULL, with *FAILED set, when either is NULL or there is no memory; like the others. */
struct cJSON *json_put(struct cJSON *object, const char *key, struct cJSON *item, bool *failed);

/* VALUE; nothing where that is NULL or empty. */
void json_put_string(struct cJSON *object, const char *key, const char *value, bool *failed);

void json_put_number(struct cJSON *object, const char *key, double value, bool *failed);

/* Returns OBJECT; where FAILED, deletes it and returns NULL. */
struct cJSON *json_finish(struct cJSON *object, bool failed);

#endif
