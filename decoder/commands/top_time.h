/* Functions by time: one row for each interval. top --by time calls it. */
#ifndef DECODER_COMMANDS_TOP_TIME_H
#define DECODER_COMMANDS_TOP_TIME_H

#include "decoder/commands/args.h"
#include "profile/aggregate/profile.h"

/* Whether BY, the argument of --by, is "time" or "time=INTERVAL". Sets *INTERVAL_NS; 0 if the interval is invalid. */
bool top_time_parse(const char *by, uint64_t *interval_ns);

struct top_time {
	const struct args *args;
	enum metric metric;
	bool by_total;
	const char *unit;
	unsigned width; /* of the terminal; 0: unknown */
	uint64_t interval_ns;
};

/* Print PROFILE, which query.times has split. With a limit, the heaviest intervals, in the order of time. Returns 0,
 * -ENOMEM, or -ERANGE if there are too many intervals. */
int top_print_by_time(const struct top_time *top, const struct profile *profile);

#endif
