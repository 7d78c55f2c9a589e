/* Conversion of a captured recording to the format of a response. */
#ifndef ENDPOINT_PROFILE_OUTPUT_H
#define ENDPOINT_PROFILE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "profile/aggregate/query.h"
#include "profile/jfr/settings.h"

enum profile_format {
	PROFILE_PPROF,      /* gzipped profile.proto */
	PROFILE_TEXT,       /* folded stacks, sorted by weight */
	PROFILE_RAW,        /* the recording itself; it needs no conversion */
	PROFILE_FLAMEGRAPH, /* an HTML page */
};

struct profile_options {
	enum profile_format format;
	enum metric metric;     /* METRIC_ANY: CPU time if it was sampled, else another metric */
	bool is_retained;       /* for METRIC_LIVE and METRIC_MALLOC: from the sampler's table */
	bool is_per_thread;     /* the newest stack of each thread, by thread name */
	int64_t from_ns, to_ns; /* time range of the samples, since 1970 */
	struct settings configured; /* intervals for a profile without samples */
};

/* Append the recording in the file FD to OUT in the format of OPTIONS. Returns 0, -ENODATA when no sample matches (OUT
 * has an empty profile then), or another -errno. Not for PROFILE_RAW. */
int profile_output_write(struct buf *out, int fd, const struct profile_options *options);

#endif
