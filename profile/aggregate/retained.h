/* Reader of snapshots of the native memory sampler's table (asprof.RetainedHeap events at the end
 * of a chunk). Unlike single events, a snapshot also covers allocations from before the
 * recording. */
#ifndef PROFILE_AGGREGATE_RETAINED_H
#define PROFILE_AGGREGATE_RETAINED_H

#include "profile/aggregate/profile.h"

/* Read the last snapshot in FEED into PROFILE, which is empty: METRIC_LIVE is retained memory,
 * METRIC_MALLOC all allocations since sampling started. Returns 0, -ENOENT if there is no snapshot,
 * -ENOMEM, or -EIO. Release with profile_free() in any case. */
int retained_read(struct profile *profile, const struct query *query, struct feed *feed);

#endif
