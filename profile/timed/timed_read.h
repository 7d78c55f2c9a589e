/* Reader of single samples and marks, in the order of the files, by one thread. */
#ifndef PROFILE_TIMED_TIMED_READ_H
#define PROFILE_TIMED_TIMED_READ_H

#include "profile/aggregate/feed.h"
#include "profile/aggregate/profile.h"
#include "profile/timed/timed.h"

/* Receives samples and marks. Each function returns 0, or -errno to end the reading. */
struct timed_visitor {
	void *arg;
	int (*sample)(void *arg, const struct timed_sample *sample);
	int (*mark)(void *arg, const struct timed_mark *mark); /* NULL: no marks */

	/* The samples of FROM, a chunk, are complete. LABELS: of the recording, in the profile's
	 * names. May be NULL. */
	int (*chunk_end)(void *arg, const struct feed_chunk *from, uint32_t labels);
};

/* Read all of FEED that matches QUERY, but only METRICS (a mask of 1 << enum metric). PROFILE gets
 * names, frames, stacks, threads, losses, periods and the time range, but no samples. Returns as
 * profile_read() does, or the error of the visitor. Release with profile_free() in any case. */
int timed_read(struct profile *profile, const struct query *query, struct feed *feed,
	       uint32_t metrics, const struct timed_visitor *visitor);

#endif
