/* Cache of objects from buckets: files in $XDG_CACHE_HOME/asprof-agent, or ~/.cache/asprof-agent.
 *
 * A file's name is the hash of the object's URL and ETag, so a replaced object gets another file. A file appears
 * when it is complete. The least recently used files are deleted first. Several processes may share a cache and
 * delete its files, so a file may be missing at any time. Thread-safe. */
#ifndef DECODER_BUCKET_OBJECT_CACHE_H
#define DECODER_BUCKET_OBJECT_CACHE_H

#include <stdint.h>

#include "decoder/bucket/objects.h"

struct object_cache;

/* Open the cache with a limit of MAX_BYTES. If the directory cannot be made, or MAX_BYTES is 0, objects are stored in
 * unnamed files. Returns 0 (release with object_cache_close) or -ENOMEM. */
int object_cache_open(struct object_cache **out, uint64_t max_bytes);

/* Open the cached file of OBJECT in the bucket with URL BASE. Returns a descriptor for reading, or -ENOENT. */
int object_cache_find(struct object_cache *cache, const char *base, const struct object *object);

/* Create a file, call FILL with its descriptor (empty, for reading and writing), and add it to the cache.
 * Returns the descriptor, FILL's error, or -errno. */
int object_cache_add(struct object_cache *cache, const char *base, const struct object *object,
		     int (*fill)(void *arg, int fd), void *arg);

void object_cache_close(struct object_cache *cache);

#endif
