/* Profile of one metric whose samples have times, and its marks: the source of the timeline page.
 *
 * A wall-clock sample that stands for several is spread over its time. */
#ifndef PROFILE_TIMED_TIMED_PROFILE_H
#define PROFILE_TIMED_TIMED_PROFILE_H

#include "core/buf.h"
#include "profile/aggregate/feed.h"
#include "profile/aggregate/profile.h"
#include "profile/timed/timed.h"

struct timed_profile {
	struct profile profile;
	struct buf marks; /* struct timed_mark; the last ones are omitted if there are too many */
	uint64_t marks_cut;
	int64_t row_ms; /* times of samples are multiples of it: 1, or more if there are many */
};

/* Read METRIC of FEED. Beyond SAMPLES_MAX different samples, times are rounded, so that more of them
 * are equal. Returns as timed_read() does. Release with timed_profile_free() in any case. */
int timed_profile_read(struct timed_profile *out, const struct query *query, struct feed *feed,
		       enum metric metric, uint32_t samples_max);
void timed_profile_free(struct timed_profile *profile);

#endif
