/* Weight of one event: its metric, and how many samples and how much time or memory it stands for. */
#ifndef PROFILE_AGGREGATE_EVENT_WEIGHT_H
#define PROFILE_AGGREGATE_EVENT_WEIGHT_H

#include <stdbool.h>

#include "profile/aggregate/resolve.h"
#include "profile/aggregate/tally.h"

/* Set *T to key and weight of EVENT. Returns false if EVENT has no metric. */
bool event_weigh(struct resolve *resolve, const struct settings *settings,
		 const struct jfr_event *event, struct tally *t);

/* Total of a tally: for samples the time, from the interval; for locks the time, from ticks; else
 * the sum. */
double tally_total(const struct tally *t, const struct jfr_header *header,
		   const struct settings *settings);

/* Returns the number of parts that an event of COUNT samples is spread over in time. *SUM is the sum
 * of the parts so far, at first 0. It stays below EVENT_PARTS_MAX and one for each event: events
 * have fewer and longer parts, the more parts there were. */
#define EVENT_PARTS_MAX (1u << 21)
int64_t event_parts(int64_t count, uint64_t *sum);

#endif
