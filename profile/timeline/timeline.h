/* The timeline: a lane for each thread over time, as a part of a page with a flame graph. */
#ifndef PROFILE_TIMELINE_TIMELINE_H
#define PROFILE_TIMELINE_TIMELINE_H

#include "profile/flamegraph/flamegraph_write.h"
#include "profile/timed/timed_profile.h"

struct timeline {
	struct page_part part; /* must be first: its functions cast */
	const struct timed_profile *timed;
	enum metric metric;
};

/* Make the part of a page of METRIC of TIMED, which must outlive it. */
void timeline_init(struct timeline *timeline, const struct timed_profile *timed,
		   enum metric metric);

#endif
