/* List of the objects in a bucket, filtered by their names before they are fetched. */
#ifndef DECODER_BUCKET_OBJECTS_H
#define DECODER_BUCKET_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/bucket/bucket_query.h"
#include "decoder/bucket/listing.h"

struct object {
	char *key, *etag; /* see struct listing_entry; one allocation, freed through key */
	uint64_t bytes;
	int64_t modified;
	bool is_frozen;
};

struct objects {
	struct object *list;
	uint32_t count, room;
};

/* Whether KEY, or a path, ends in the name of a recording: .jfr, .jfr.gz or .zip, not hidden. */
bool object_key_is_recording(const char *key);

/* Add OBJECT if its name is that of a recording. Returns 0 or -ENOMEM. */
int objects_add(struct objects *objects, const struct listing_entry *object);

/* Remove objects that FILTER excludes by their names: another group or machine, or a time outside the period. Sort
 * the others by time.
 *
 * A report covers the time from the end of its process's previous report to its own end. Several processes may have
 * the same name, so at least ten minutes are added. Times of day and times before the end refer to the end of the
 * last report of that group and machine. A positive offset excludes nothing.
 * Returns 0, -ENOMEM, or -EINVAL if a time of day is ambiguous because the reports cover several days. */
int objects_filter(struct objects *objects, const struct upload_filter *filter);

/* Returns some of the groups, as "a, b, c and 4 more", malloc'd; NULL when out of memory. */
char *objects_describe_groups(const struct objects *objects);

void objects_free(struct objects *objects);

#endif
