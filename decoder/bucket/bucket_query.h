/* What is asked of a bucket. */
#ifndef DECODER_BUCKET_BUCKET_QUERY_H
#define DECODER_BUCKET_BUCKET_QUERY_H

#include <stdint.h>

#include "profile/aggregate/query.h"

/* Which reports, as far as their names tell. */
struct pick {
	struct pattern group, machine;
	struct moment from, to;
};

/* How the bucket is reached, where that is not as the environment has it (NULL), and how much of what
 * was fetched is kept. */
struct reach {
	const char *endpoint, *region, *proxy;
	uint64_t cache_bytes;
};

#define BUCKET_CACHE_BYTES (2ull << 30)

#endif
