/* Query for a bucket: which uploads, and how to reach the bucket. */
#ifndef DECODER_BUCKET_BUCKET_QUERY_H
#define DECODER_BUCKET_BUCKET_QUERY_H

#include <stdint.h>

#include "profile/aggregate/query.h"

/* Filter of uploads by the fields of their names. */
struct upload_filter {
	struct pattern group, machine;
	struct moment from, to;
};

/* Access to the bucket; NULL: as the environment sets it. */
struct bucket_access {
	const char *endpoint, *region, *proxy;
	uint64_t cache_bytes; /* limit of the object cache; 0: no cache */
};

#define BUCKET_CACHE_BYTES (2ull << 30)

#endif
