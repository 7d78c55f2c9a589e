/* Native memory: which allocations live, and how long those lived that were freed. */
#ifndef DECODER_HEAP_H
#define DECODER_HEAP_H

#include "decoder/feed.h"

/* How many allocations of SIZE a sample stands for. WEIGHT are the bytes that the recording says
 * it stands for, 0 where it does not. async-profiler takes one allocation for every so many bytes
 * (mem_interval), thus one of this size with a chance of size/interval. */
double mem_scale(const struct settings *settings, int64_t size, int64_t weight);

#endif
