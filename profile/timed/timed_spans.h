/* Spans of traces, from the contexts of samples. */
#ifndef PROFILE_TIMED_TIMED_SPANS_H
#define PROFILE_TIMED_TIMED_SPANS_H

#include "profile/aggregate/profile.h"
#include "profile/timed/timed.h"

/* Call ADD(ARG, mark) for each row of GROUP's samples in SAMPLES with the same span. They must be
 * sorted by time. PROFILE gets the texts of the marks. Returns 0, or the error of ADD. */
int timed_spans_add(struct profile *profile, const struct timed_sample *samples,
		    const struct timed_group *group,
		    int (*add)(void *arg, const struct timed_mark *mark), void *arg);

#endif
