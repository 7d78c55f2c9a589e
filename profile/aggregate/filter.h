/* Filter of events by time, thread, stack and labels. */
#ifndef PROFILE_AGGREGATE_FILTER_H
#define PROFILE_AGGREGATE_FILTER_H

#include "profile/aggregate/query.h"
#include "profile/aggregate/profile.h"

/* Time range of --from and --to, in ns since 1970. */
struct period {
	int64_t from_ns, to_ns;
};

/* Set PERIOD from QUERY. Returns 0, or -ENODATA if a time is relative and FEED has no chunk. */
int period_resolve(struct period *period, const struct query *query, struct feed *feed);

/* Get the part of the chunk with HEADER that is within PERIOD. Returns false if there is none. */
bool period_covers(const struct period *period, const struct jfr_header *header, int64_t *start_ns,
		   int64_t *end_ns);

/* Count a chunk in PROFILE, and extend PROFILE's time span by the part of it that is within
 * PERIOD. */
void period_add_chunk(const struct period *period, struct profile *profile,
		      const struct jfr_header *header);

/* Get PERIOD in ticks of the chunk with HEADER. */
void period_ticks(const struct period *period, const struct jfr_header *header, int64_t *from,
		  int64_t *to);

/* Returns TICKS in ns since 1970. */
int64_t ticks_to_ns(const struct jfr_header *header, int64_t ticks);

/* The same without a division, for many events: FACTOR is ns_per_tick(). */
static inline double ns_per_tick(const struct jfr_header *header)
{
	return 1e9 / (double)header->ticks_per_second;
}

static inline int64_t ticks_to_ns_by(const struct jfr_header *header, double factor, int64_t ticks)
{
	static const double max = (double)JFR_DURATION_NS_MAX;
	double ns = (double)(int64_t)((uint64_t)ticks - (uint64_t)header->start_ticks) * factor;

	if (!(ns > -max && ns < max))
		ns = 0;
	return (int64_t)((uint64_t)header->start_ns + (uint64_t)(int64_t)ns);
}

/* Results are cached by ID, as regular expressions are slow. One thread uses a filter, for one
 * profile and one recording at a time (filter_set_recording()). */
struct filter {
	const struct query *query;
	const struct profile *profile;
	uint8_t *names, *threads, *contexts; /* cached results; 0: not evaluated yet */
	uint32_t name_capacity, thread_capacity, context_capacity;
	uint32_t labels; /* labels of the current recording, in the profile's names */
};

/* Whether a sample of THREAD, or of STACK in THREAD, is included. */
bool filter_thread(struct filter *filter, uint32_t thread);
bool filter_stack(struct filter *filter, uint32_t stack, uint32_t thread);

/* Set the labels of the recording that the next samples are from. */
void filter_set_recording(struct filter *filter, uint32_t labels);

/* Whether QUERY has labels or a trace, and whether CONTEXT or the recording's labels match them. */
bool filter_wants_contexts(const struct query *query);
bool filter_context(struct filter *filter, uint32_t context);

/* Whether WAIT, in the profile's waits, is of the query's states and causes. */
bool filter_wait(const struct filter *filter, uint32_t wait);

void filter_free(struct filter *filter);

#endif
