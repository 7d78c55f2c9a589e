/* Prefetch of objects: several threads fetch the objects that the reader needs next. */
#ifndef DECODER_BUCKET_OBJECT_PREFETCH_H
#define DECODER_BUCKET_OBJECT_PREFETCH_H

#include <stdatomic.h>

#include "decoder/bucket/object_cache.h"
#include "decoder/bucket/bucket_client.h"

struct prefetch;

/* Open a prefetch of OBJECTS by CLIENT, which has listed them, through CACHE. All arguments must outlive it.
 * STOP is the client's. Returns 0 (release with prefetch_close) or -ENOMEM. */
int prefetch_open(struct prefetch **out, struct bucket_client *client, struct object_cache *cache,
		  const struct objects *objects, atomic_bool *stop);

/* Wait for object INDEX. The objects after it are fetched meanwhile, so reading in order waits least. Objects that were
 * read before come from the cache. Shows progress on a terminal. One thread at a time.
 * Returns a descriptor for reading, or -errno after a message. */
int prefetch_wait_object(struct prefetch *prefetch, uint32_t index);

/* Cancel the transfers and free PREFETCH. */
void prefetch_close(struct prefetch *prefetch);

#endif
