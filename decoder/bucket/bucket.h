/* Recordings in buckets: s3://BUCKET/PREFIX on the command line. The whole module is for one thread. */
#ifndef DECODER_BUCKET_BUCKET_H
#define DECODER_BUCKET_BUCKET_H

#include <stdbool.h>

#include "decoder/bucket/bucket_query.h"
#include "decoder/bucket/objects.h"

/* Whether FILE begins with s3://. */
bool bucket_is_url(const char *file);

/* Call EACH with the path, s3://BUCKET/KEY, of each recording below FILE that FILTER may include, sorted by time.
 * The bucket is listed once for each pair of FILE and FILTER; FILTER must stay valid until exit.
 * Returns 0; the first result of EACH that is not 0; or -errno after a message, also if only some objects failed. */
int bucket_list_objects(const char *file, const struct upload_filter *filter,
			const struct bucket_access *access,
			int (*each)(void *arg, const char *path), void *arg);

/* Returns the object at PATH, or NULL if bucket_list_objects() has not returned this path. */
const struct object *bucket_find_object(const char *path);

/* Open the content of PATH for reading, and start to fetch the objects that follow it in the listing.
 * Returns a descriptor, or -errno after a message; for an unknown PATH -ENOENT without a message. */
int bucket_open_object(const char *path);

#endif
