/* Buckets as what a command line names: s3://BUCKET/PREFIX stands for the recordings below it. */
#ifndef DECODER_BUCKET_BUCKET_H
#define DECODER_BUCKET_BUCKET_H

#include <stdbool.h>

#include "decoder/bucket/bucket_query.h"
#include "decoder/bucket/objects.h"

/* Whether FILE begins with s3:// */
bool bucket_is_url(const char *file);

/* Call EACH for the recordings that FILE, s3://BUCKET/PREFIX, stands for, as far as they may be what
 * PICK asks for, by time; PATH is s3://BUCKET/KEY. The bucket is listed once for a FILE and a PICK,
 * which must outlive this, however often it is asked for.
 * Returns 0; what EACH returned, if not 0; or -errno after a line, perhaps after some or all were
 * given to EACH. Nobody else may be in here meanwhile, nor in what follows. */
int bucket_list_objects(const char *file, const struct pick *pick, const struct reach *reach,
			int (*each)(void *arg, const char *path), void *arg);

/* What is known of PATH, one that bucket_list_objects() gave; NULL where it is another. */
const struct object *bucket_find_object(const char *path);

/* The content of PATH as a file, open for reading. What the list has behind it is fetched meanwhile.
 * Returns a descriptor, or -errno after a line; -ENOENT without one for a PATH that is not known. */
int bucket_open_object(const char *path);

/* End what is under way, and forget all. Done at exit. */
void bucket_close(void);

#endif
