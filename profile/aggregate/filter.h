/* Which events, threads and stacks are wanted. */
#ifndef PROFILE_AGGREGATE_FILTER_H
#define PROFILE_AGGREGATE_FILTER_H

#include "profile/aggregate/query.h"
#include "profile/aggregate/profile.h"

/* The bounds of --from and --to, in ns since 1970. */
struct period {
	int64_t from_ns, to_ns;
};

/* Returns 0, or -ENODATA where a time is relative and there is no chunk to count from. */
int period_resolve(struct period *period, const struct query *query, struct feed *feed);

/* Add to PROFILE's span what lies within the bounds of the chunk with HEADER. */
void period_add_chunk(const struct period *period, struct profile *profile,
		      const struct jfr_header *header);

/* The bounds in ticks of the chunk with HEADER. */
void period_ticks(const struct period *period, const struct jfr_header *header, int64_t *from,
		  int64_t *to);

int64_t ticks_to_ns(const struct jfr_header *header, int64_t ticks);

/* The same for many: a division is saved. */
static inline double ns_per_tick(const struct jfr_header *header)
{
	return 1e9 / (double)header->ticks_per_second;
}

static inline int64_t ticks_to_ns_by(const struct jfr_header *header, double factor, int64_t ticks)
{
	double ns = (double)(int64_t)((uint64_t)ticks - (uint64_t)header->start_ticks) * factor;

	if (!(ns > -4e18 && ns < 4e18))
		ns = 0;
	return (int64_t)((uint64_t)header->start_ns + (uint64_t)(int64_t)ns);
}

/* Answers by number are kept, as regular expressions are slow. One thread, one profile; of one recording, or as
 * filter_set_recording() says. */
struct filter {
	const struct query *query;
	const struct profile *profile;
	uint8_t *names, *threads, *contexts; /* 0: not asked yet */
	uint32_t name_capacity, thread_room, context_capacity;
	uint32_t labels; /* of the recording whose samples come, in the profile's names */
};

bool filter_thread(struct filter *filter, uint32_t thread);
bool filter_stack(struct filter *filter, uint32_t stack, uint32_t thread);

/* From now on samples come of the recording that is labelled so. */
void filter_set_recording(struct filter *filter, uint32_t labels);

/* Whether QUERY asks for labels at all, and whether a sample in CONTEXT has them, or its recording. */
bool filter_wants_contexts(const struct query *query);
bool filter_context(struct filter *filter, uint32_t context);
void filter_free(struct filter *filter);

#endif
