/* Labels of samples in profile.proto. */
#ifndef PROFILE_PPROF_PPROF_LABELS_H
#define PROFILE_PPROF_PPROF_LABELS_H

#include "profile/pprof/pprof.h"

/* Select the labels for Pyroscope from the samples of METRICS, a mask; later calls of
 * pprof_append_labels() write only these. Pyroscope makes a series for each combination of labels,
 * except for "span_id", which finds the samples of a span. Not selected:
 * - the trace ID
 * - keys with too many different values
 * - keys after the first few
 * - the object of a wait ("on"). State and cause have at most twenty combinations.
 * Other characters than letters and digits in keys become '_'. */
void pprof_select_labels(struct pprof *out, uint32_t metrics);

/* Append to out->message the labels of S: its thread, its recording's labels, the context of the
 * thread, and its wait ("state", "cause", "on"). If the context has a key of the recording or of
 * the wait too, only the context's label is written. */
void pprof_append_labels(struct pprof *out, const struct sample *s);

#endif
