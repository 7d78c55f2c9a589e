/* Native memory: which allocations live, and how long those lived that were freed. */
#include "decoder/heap.h"

double mem_scale(const struct settings *settings, int64_t size, int64_t weight)
{
	if (size <= 0)
		return 1;
	if (weight > 0)
		return (double)weight / (double)size;
	return size < settings->mem_interval ? (double)settings->mem_interval / (double)size : 1;
}
