/* The labels of a sample in profile.proto. */
#ifndef PROFILE_PPROF_PPROF_LABELS_H
#define PROFILE_PPROF_PPROF_LABELS_H

#include "profile/pprof/pprof.h"

/* From now on what Pyroscope is to have of what the samples of METRICS, a mask, are labelled with. It makes a series of its own
 * of each combination of labels, but for "span_id", by which it finds the samples of a span. So a trace's id stays
 * out, and so does a key with more values than a series is worth, and those beyond the first few; names are as it
 * takes them. */
void pprof_select_labels(struct pprof *out, uint32_t metrics);

/* Put the labels of S behind the message: its thread, what its recording is labelled with, and what the thread
 * worked on. Of one key the last of these holds. */
void pprof_append_labels(struct pprof *out, const struct sample *s);

#endif
