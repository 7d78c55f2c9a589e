/* Hash table of a chunk's samples, added up by the chunk's own constants. Constants are resolved
 * afterwards, as a recording has many more samples than stacks. One thread uses a table. */
#ifndef PROFILE_AGGREGATE_TALLY_H
#define PROFILE_AGGREGATE_TALLY_H

#include <stdint.h>

struct tally_key {
	uint64_t stack, thread, class, context;
	uint64_t wait, owner_stack;
	int64_t time_ms; /* since 1970; 0: not requested */
	uint32_t metric, leaf, state;
};

struct tally {
	struct tally_key key;
	int64_t count, total;
	int64_t newest; /* time of the last sample, in ticks */
	double scaled_count, scaled_total;
	double count_variance, total_variance; /* of the scaled ones: see struct sample */
	uint32_t slot;                         /* for tallies_clear() */
};

struct tallies {
	struct tally *list; /* in the order of their first samples */
	uint32_t count, capacity;
	uint32_t *slots; /* index in list + 1; 0: free slot */
	uint32_t slot_count;
};

/* Returns the entry of KEY, zeroed if it is new, valid until the next call; NULL when out of
 * memory. */
struct tally *tallies_get(struct tallies *tallies, const struct tally_key *key);

void tallies_clear(struct tallies *tallies);
void tallies_free(struct tallies *tallies);

#endif
