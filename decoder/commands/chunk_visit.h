/* Visits the chunks of recordings, in the order of the files, for commands that print single events. */
#ifndef DECODER_COMMANDS_CHUNK_VISIT_H
#define DECODER_COMMANDS_CHUNK_VISIT_H

#include "decoder/commands/args.h"
#include "profile/aggregate/feed.h"
#include "profile/aggregate/filter.h"
#include "profile/aggregate/resolve.h"

/* Filter of a chunk's events. */
struct chunk_filter {
	const struct args *args;
	struct period period;
	int64_t from, to;      /* period in the chunk's ticks */
	bool filters_names;    /* filters threads or frames */
	bool filters_contexts; /* filters labels or a trace */

	/* The current chunk, and its names once they are needed. */
	struct jfr_chunk *chunk;
	const struct feed_chunk *of;
	bool has_names;
	struct profile profile;
	struct resolve resolve;
	struct filter filter;
};

/* Call EACH for every readable chunk. FROM has the settings at the chunk's start. Any result but 0 ends the visit, except
 * -EBADMSG of a damaged chunk, which is reported and left.
 *
 * Returns COMMAND_OK, or COMMAND_FAILED. A message is printed about unreadable files, damaged chunks and -ENOMEM; EACH
 * must print one for its other errors. */
int chunk_visit_all(const struct args *args,
		    int (*each)(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from,
				struct chunk_filter *filter),
		    void *arg);

/* Whether EVENT passes the filter. */
bool chunk_filter_accepts_event(struct chunk_filter *filter, const struct jfr_event *event);

/* Whether an event at TICKS without thread, stack and context passes the filter. */
bool chunk_filter_accepts_time(struct chunk_filter *filter, int64_t ticks);

/* Returns the context of EVENT's thread, as lines of "key=value", or "". Valid until the end of the visit. */
const char *chunk_filter_context(struct chunk_filter *filter, const struct jfr_event *event);

#endif
