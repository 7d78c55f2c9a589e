/* The objects below a prefix, and which of them are worth fetching, as far as their names tell. */
#ifndef DECODER_BUCKET_OBJECTS_H
#define DECODER_BUCKET_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/bucket/bucket_query.h"
#include "decoder/bucket/listing.h"

struct object {
	char *key, *etag; /* see struct listed; one allocation, which is the key's */
	uint64_t bytes;
	int64_t modified;
	bool frozen;
};

struct objects {
	struct object *list;
	uint32_t count, room;
	uint32_t listed; /* recordings that were met, kept or not */
};

/* Keep OBJECT if it is named as recordings are. Returns 0 or -ENOMEM. */
int objects_add(struct objects *objects, const struct listed *object);

/* Leave out what the names show not to be what PICK asks for: another group or machine, or a time that is
 * not in the period. A report is from the time between the end of its process's report before and its
 * own; as several processes may go by one name, ten minutes are allowed for, or more. Times of day and times before the end are
 * counted from the end of the last report that is of the group and machine; a positive offset leaves
 * all in. The rest is sorted by time.
 * Returns 0, -ENOMEM, or -EINVAL for a time of day that may be one of several days'. */
int objects_filter(struct objects *objects, const struct pick *pick);

/* "a, b, c and 4 more": some groups that are in the list, malloc'd; NULL without memory. */
char *objects_describe_groups(const struct objects *objects);

void objects_free(struct objects *objects);

#endif
