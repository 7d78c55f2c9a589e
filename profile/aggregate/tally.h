/* Samples of one chunk added up by its own constants, before any of them is resolved: a recording
 * has many more samples than stacks. */
#ifndef PROFILE_AGGREGATE_TALLY_H
#define PROFILE_AGGREGATE_TALLY_H

#include <stdint.h>

struct tally_key {
	uint64_t stack, thread, class, context;
	uint32_t metric, leaf;
};

struct tally {
	struct tally_key key;
	int64_t count, total;
	int64_t newest; /* when the last of them was taken, in ticks */
	double scaled_count, scaled_total;
};

struct tallies {
	struct tally *table; /* a place is free where key.metric is 0 */
	uint32_t count, capacity;
};

/* The place of KEY, new ones zeroed; NULL when out of memory. Valid until the next call. */
struct tally *tallies_get(struct tallies *tallies, const struct tally_key *key);

void tallies_clear(struct tallies *tallies);
void tallies_free(struct tallies *tallies);

#endif
