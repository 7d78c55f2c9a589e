/* What was fetched from buckets, kept for the next time: files in $XDG_CACHE_HOME/asprof-agent, or
 * ~/.cache/asprof-agent, each named by a hash of where its object is and of its ETag, so that an object
 * that was replaced is another. A file appears when it is whole. Those that were not used for longest
 * go first when there is no room; nobody counts on a file to be there, so several processes may use
 * and empty one cache at once. Any thread. */
#ifndef DECODER_BUCKET_OBJECT_CACHE_H
#define DECODER_BUCKET_OBJECT_CACHE_H

#include <stdint.h>

#include "decoder/bucket/objects.h"

struct cache;

/* Keep MAX_BYTES of the disk at most. Where there is no place for it, or MAX_BYTES is 0, what is fetched
 * goes to files without a name. Returns 0 (release with object_cache_close) or -ENOMEM. */
int object_cache_open(struct cache **out, uint64_t max_bytes);

/* The file of OBJECT of the bucket at BASE, open for reading; -ENOENT where it is not there. */
int object_cache_find(struct cache *cache, const char *base, const struct object *object);

/* Keep what FILL writes into the file that it is given: an empty one, to read and to write. Returns it,
 * open for reading, or what FILL returned, or -errno. */
int object_cache_add(struct cache *cache, const char *base, const struct object *object,
		     int (*fill)(void *arg, int fd), void *arg);

void object_cache_close(struct cache *cache);

#endif
