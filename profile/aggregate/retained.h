/* What the table of the sampler of native memory held when a recording ended (asprof.RetainedHeap). The events
 * of a recording tell what became of what was allocated in it; the table knows of all that was before, too. */
#ifndef PROFILE_AGGREGATE_RETAINED_H
#define PROFILE_AGGREGATE_RETAINED_H

#include "profile/aggregate/profile.h"

/* Put the last statement in FEED into PROFILE, which is empty: METRIC_LIVE, what is retained; and METRIC_MALLOC,
 * what was allocated since the sampling began. Returns 0, -ENOENT where there is none, -ENOMEM, or -EIO. Free
 * it with profile_free(). */
int retained_read(struct profile *profile, const struct query *query, struct feed *feed);

#endif
