/* One chunk after another, in the order of the files: for commands that print events one by one. */
#ifndef DECODER_COMMANDS_CHUNK_VISIT_H
#define DECODER_COMMANDS_CHUNK_VISIT_H

#include "decoder/commands/args.h"
#include "profile/aggregate/feed.h"
#include "profile/aggregate/filter.h"
#include "profile/aggregate/resolve.h"

/* What of a chunk is wanted. */
struct wants {
	const struct args *args;
	struct period period;
	int64_t from, to;      /* the same in the chunk's ticks */
	bool by_name;          /* threads or frames are chosen */
	bool filters_contexts; /* labels or a trace are */

	/* The chunk, and its names once they are asked for. */
	struct jfr_chunk *chunk;
	const struct feed_chunk *of;
	bool open;
	struct profile profile;
	struct resolve resolve;
	struct filter filter;
};

/* Call EACH for every chunk that can be read; a negative return ends it. The settings of FROM are
 * those at the chunk's start. Returns COMMAND_OK, or COMMAND_FAILED after a line on stderr. */
int chunk_visit_all(const struct args *args,
		    int (*each)(void *arg, struct jfr_chunk *chunk, const struct feed_chunk *from,
				struct wants *wants),
		    void *arg);

/* Whether EVENT passes the filters. */
bool chunk_filter_accepts_event(struct wants *wants, const struct jfr_event *event);

/* Whether something at TICKS does of which neither thread nor stack nor context is told. */
bool chunk_filter_accepts_time(struct wants *wants, int64_t ticks);

/* What EVENT's thread was working on, as lines of "key=value"; "": nothing. Valid until the end of the reading. */
const char *chunk_filter_context(struct wants *wants, const struct jfr_event *event);

#endif
