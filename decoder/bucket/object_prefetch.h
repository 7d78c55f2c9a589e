/* Objects that are fetched ahead of who reads them, several at once. */
#ifndef DECODER_BUCKET_OBJECT_PREFETCH_H
#define DECODER_BUCKET_OBJECT_PREFETCH_H

#include <stdatomic.h>

#include "decoder/bucket/object_cache.h"
#include "decoder/bucket/bucket_client.h"

struct fetch;

/* Of OBJECTS, by CLIENT, which has listed them, and through CACHE; all stay the caller's, and *STOP is the
 * client's. Returns 0 (release with prefetch_close) or -ENOMEM. */
int prefetch_open(struct fetch **out, struct client *client, struct cache *cache,
		  const struct objects *objects, atomic_bool *stop);

/* The object INDEX: a file, open for reading, or -errno after a line. Those that follow it are fetched
 * meanwhile, as far as that is not done: who goes on with the next waits least, and what was read before
 * comes out of the cache. On a terminal it is shown how far it is. For one thread. */
int prefetch_wait_object(struct fetch *fetch, uint32_t index);

/* End what is under way. */
void prefetch_close(struct fetch *fetch);

#endif
