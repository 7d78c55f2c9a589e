/* States of threads by time: what the agent logs when another engine takes the samples (asprof.ThreadState). They are in a
 * chunk after the samples, so they are read first. Any thread may search. */
#ifndef PROFILE_AGGREGATE_WAIT_LOOKS_H
#define PROFILE_AGGREGATE_WAIT_LOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/aggregate/feed.h"
#include "profile/aggregate/query.h"
#include "profile/basics/intern.h"

struct wait_look_row; /* a thread in one state */

struct wait_looks {
	struct intern files; /* each file's rows count for its own samples only */
	struct intern texts; /* lines as wait_parse() takes */
	struct wait_look_row *rows;
	size_t count;
	uint32_t capacity;
};

/* Read the states in FEED, if QUERY wants waits. Returns 0, or -ENOMEM. Release with wait_looks_free(). */
int wait_looks_read(struct wait_looks *looks, const struct query *query, struct feed *feed);
void wait_looks_free(struct wait_looks *looks);

/* Returns the number of a file for wait_looks_find(); 0: nothing is known of it. */
uint32_t wait_looks_file(const struct wait_looks *looks, const char *file);

/* Returns the text, in TEXTS, of the state of thread TID at TIME_NS, or at the nearest time at most WITHIN_NS from it; of the
 * states in which the thread waits, or of the others. 0: unknown. */
uint32_t wait_looks_find(const struct wait_looks *looks, uint32_t file, uint32_t tid,
			 int64_t time_ns, int64_t within_ns, bool waits);

#endif
